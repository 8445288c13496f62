SELECT cuckoo_version() || ' ' || filter_contains('seen', 'ada@example.org')
  || ' ' || filter_contains('counted', 42) || ' ' || (SELECT address FROM chunks)
  || ' ' || (SELECT node FROM ring WHERE key = 'k') AS answer;
