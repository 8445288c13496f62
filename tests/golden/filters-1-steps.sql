INSERT INTO c SELECT 'more ' || i FROM n; DELETE FROM c WHERE k = 'key 4'; INSERT INTO c(c) VALUES ('rebuild');
INSERT INTO off SELECT -i FROM n WHERE i < 30; DELETE FROM off WHERE key = 9;
INSERT INTO b SELECT -i FROM n; INSERT INTO b(b) VALUES ('rebuild'); INSERT INTO b VALUES ('x');
INSERT INTO bl SELECT -i FROM n; INSERT INTO bl(bl, k) VALUES ('resize', 500); INSERT INTO bl VALUES ('x');
DELETE FROM co WHERE k = 7; INSERT INTO co VALUES (99); INSERT INTO co(co) VALUES ('rebuild');
INSERT INTO le VALUES ('x');
INSERT INTO wi(wi) VALUES ('rotate'); INSERT INTO wi VALUES ('x');
UPDATE words SET w = upper(w) WHERE rowid < 5; INSERT INTO words VALUES ('new'); DELETE FROM words WHERE rowid = 20; 
INSERT INTO s(s) VALUES ('rebuild');
