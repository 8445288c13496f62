CREATE VIRTUAL TABLE seen USING cuckoo_filter(email TEXT, capacity = 1000);
INSERT INTO seen VALUES ('ada@example.org');
CREATE VIRTUAL TABLE counted USING bloom_filter(key, capacity = 1000);
INSERT INTO counted VALUES (42);
CREATE VIRTUAL TABLE chunks USING flash_kv(address TEXT, chunk, size = '1MB');
INSERT INTO chunks(chunk) VALUES ('abc');
CREATE VIRTUAL TABLE ring USING hash_ring(algorithm = 'ketama');
INSERT INTO ring(node) VALUES ('a'), ('b');
