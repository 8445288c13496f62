CREATE TABLE users(id INTEGER PRIMARY KEY, email TEXT UNIQUE);
CREATE TABLE requests(email TEXT);
CREATE VIRTUAL TABLE seen USING cuckoo_filter(email TEXT, capacity = 1000, seed = 1);
CREATE VIRTUAL TABLE ids USING bloom_filter(id INTEGER, capacity = 1000, counting = on, seed = 1);
CREATE VIRTUAL TABLE kv USING flash_kv(name TEXT, doc, size = '1MB', seed = 1);
CREATE VIRTUAL TABLE ring USING hash_ring(vnodes = 100);
CREATE VIRTUAL TABLE copy USING cuckoo_filter(email TEXT);
