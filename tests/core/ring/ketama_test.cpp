// Against the clients: what their own tests publish.
//   libketama     libketama/test.sh of github.com/RJ/ketama: the MD5 of the output of ketama_test
//                 over ketama.servers, "hash point server" for a million keys
//   libmemcached  test/tests/memcached/ketama.cpp and test/fixtures/ketama.hpp of
//                 github.com/awesomized/libmemcached (ketama_test_cases, ketama_test_cases_spy):
//                 every ninth of the 99 keys of each, and the key after the last point
//   spymemcached  KetamaNodeLocatorTest.java of github.com/couchbase/spymemcached: testLookups,
//                 testContinuumWrapping, testClusterResizing, testLibKetamaCompat,
//                 testLibKetamaWeightedCompatLibmemcached
#include "core/ring/ketama.hpp"

#include "core/base/digest.hpp"
#include "tests/core/ring/samples.hpp"

namespace cuckoo {
namespace ring_ketama_test {
namespace {

using Expected = std::vector<std::pair<std::string, std::string>>;  // key -> node

// ketama.servers of libketama; the tests of libmemcached have the same.
std::shared_ptr<HashRing> eight_servers(KetamaDialect dialect) {
  const std::shared_ptr<HashRing> ring = empty_ring(ketama_options(dialect));
  const double weights[] = {600, 300, 200, 350, 1000, 800, 950, 100};
  for (size_t i = 0; i < std::size(weights); ++i) {
    add(*ring, "10.0.1." + std::to_string(i + 1) + ":11211", weights[i]);
  }
  ring->build();
  return ring;
}

std::string owner_of(const HashRing& ring, const std::string& key) {
  return ring.find(ring.owner(ring.ketama_position(bytes_of(key))))->name;
}

void expect_owners(const HashRing& ring, const Expected& expected) {
  for (const auto& [key, node] : expected) {
    EXPECT_EQ(owner_of(ring, key), node) << key;
  }
}

TEST(Ketama, gives_what_the_test_of_libketama_gives) {
  const std::shared_ptr<HashRing> ring = eight_servers(KetamaDialect::kLibketama);
  const PointRing& points = ring->points();
  std::string output = "\n";  // no error text
  for (int i = 0; i < 1000000; ++i) {
    const uint64_t position = ring->ketama_position(bytes_of(std::to_string(i)));
    const PointRing::Walk point(points, position);
    output += std::to_string(position >> 32) + " " + std::to_string(point.position() >> 32) + " " +
              ring->find(point.owner())->name + "\n";
  }
  EXPECT_EQ(hex_of(Digester().compute(DigestKind::kMd5, bytes_of(output))),
            "5672b131391f5aa2b280936aec1eea74");
}

TEST(Ketama, gives_what_the_test_of_libmemcached_gives) {
  const std::shared_ptr<HashRing> ring = eight_servers(KetamaDialect::kLibmemcached);
  expect_owners(*ring, {
                           {"SVa_]_V41)", "10.0.1.7:11211"},
                           {R"(4(`X;\V.^c)", "10.0.1.1:11211"},
                           {R"(\39DKW^)N_)", "10.0.1.3:11211"},
                           {"(LHcO203I3", "10.0.1.5:11211"},
                           {"NZ@ZE=O84_", "10.0.1.7:11211"},
                           {"8*6a;Sc*X+", "10.0.1.2:11211"},
                           {"M/HV^_HZ4O", "10.0.1.7:11211"},
                           {"N-)88>[O`,", "10.0.1.5:11211"},
                           {"?K2NF@3=IU", "10.0.1.1:11211"},
                           {"1bQS5]WOXB", "10.0.1.4:11211"},
                           {"4*=.SPR[AV", "10.0.1.1:11211"},
                       });
  // VDEAAAAA hashes to fffcd1b5, after the last point.
  EXPECT_EQ(ring->ketama_position(bytes_of("VDEAAAAA")) >> 32, 0xFFFCD1B5U);
  EXPECT_EQ(ring->owner(ring->ketama_position(bytes_of("VDEAAAAA"))),
            PointRing::Walk(ring->points()).owner());
}

TEST(Ketama, gives_what_the_test_of_libmemcached_gives_for_spymemcached) {
  const std::shared_ptr<HashRing> ring = eight_servers(KetamaDialect::kSpy);
  expect_owners(*ring, {
                           {"SVa_]_V41)", "10.0.1.2:11211"},
                           {R"(4(`X;\V.^c)", "10.0.1.6:11211"},
                           {R"(\39DKW^)N_)", "10.0.1.6:11211"},
                           {"(LHcO203I3", "10.0.1.1:11211"},
                           {"NZ@ZE=O84_", "10.0.1.7:11211"},
                           {"8*6a;Sc*X+", "10.0.1.5:11211"},
                           {"M/HV^_HZ4O", "10.0.1.4:11211"},
                           {"N-)88>[O`,", "10.0.1.2:11211"},
                           {"?K2NF@3=IU", "10.0.1.6:11211"},
                           {"1bQS5]WOXB", "10.0.1.7:11211"},
                           {"4*=.SPR[AV", "10.0.1.3:11211"},
                       });
  EXPECT_EQ(ring->owner(ring->ketama_position(bytes_of("VDEAAAAA"))),
            PointRing::Walk(ring->points()).owner());
}

// From an address without a host's name spymemcached drops the slash. So it has libketama's labels.
TEST(Ketama, gives_what_the_test_of_spymemcached_gives) {
  const auto servers = [](int count) {
    const std::shared_ptr<HashRing> ring = empty_ring(ketama_options(KetamaDialect::kLibketama));
    for (int i = 0; i < count; ++i) {
      add(*ring, "127.0.0.1:" + std::to_string(10000 + i));
    }
    ring->build();
    return ring;
  };
  const std::string node = "127.0.0.1:1000";
  const std::shared_ptr<HashRing> four = servers(4);
  expect_owners(*four, {{"dustin", node + "0"},
                        {"noelani", node + "2"},
                        {"some other key", node + "0"},
                        {"V5XS8C8N", node + "3"},
                        {"8KR2DKR2", node + "3"},
                        {"L9KH6X4X", node + "3"}});
  uint64_t last = 0;
  for (PointRing::Walk point(four->points()); !point.at_end(); point.next()) {
    last = point.position();
  }
  EXPECT_EQ(last >> 32, 4294887009U);
  expect_owners(*servers(5), {{"dustin", node + "0"},
                              {"noelani", node + "2"},
                              {"some other key", node + "4"},
                              {"36", node + "2"},
                              {"10037", node + "3"},
                              {"22051", node + "1"},
                              {"49044", node + "4"}});
  // This ring has names, ports and weights as libmemcached has them.
  const std::shared_ptr<HashRing> named = empty_ring(ketama_options(KetamaDialect::kLibmemcached));
  add(*named, "localhost:11211", 8);
  add(*named, "localhost:11212", 8);
  named->build();
  expect_owners(*named, {{"key1", "localhost:11212"},
                         {"key2", "localhost:11211"},
                         {"key3", "localhost:11212"},
                         {"key4", "localhost:11212"}});
}

struct Client {
  KetamaDialect dialect;
  KetamaKeyHash key_hash;
  const char* digest;  // of 10,000 lines "key node\n", as the client had them
};

// libmemcached 1.1.4 on x86-64 (memcached_generate_hash) with the behaviour HASH set last:
// KETAMA_WEIGHTED; that and the distribution KETAMA_SPY; the distribution CONSISTENT, where all
// weights are 1. twemproxy 0.5.0, with what libmemcached calls a host and its port as the name of
// the server, gives the digests of kLibmemcached; crc32a is twemproxy's alone.
const Client kClients[] = {
    {KetamaDialect::kLibmemcached, KetamaKeyHash::kMd5, "f6fdee0d121b608b29af025d7d9d1990"},
    {KetamaDialect::kLibmemcached, KetamaKeyHash::kFnv1a64, "851db4699c57c04db1c3a98c0fbeae06"},
    {KetamaDialect::kLibmemcached, KetamaKeyHash::kFnv164, "5a0d855361e7a95be8f6dfd3171e8268"},
    {KetamaDialect::kLibmemcached, KetamaKeyHash::kFnv1a32, "47f4bc1b44be8840d4ba84c03d850aa9"},
    {KetamaDialect::kLibmemcached, KetamaKeyHash::kFnv132, "33d1fd3a527c0a87b3de752ec81cf6bd"},
    {KetamaDialect::kLibmemcached, KetamaKeyHash::kCrc32a, "a83a2d4fef60033a35aae57a01daa3f8"},
    {KetamaDialect::kLibmemcached, KetamaKeyHash::kOneAtATime, "106e643b11139e586339c9908d91aac0"},
    {KetamaDialect::kSpy, KetamaKeyHash::kMd5, "b00cad4f06766da2b6505e8cda05f737"},
    {KetamaDialect::kSpy, KetamaKeyHash::kFnv1a64, "9134022e092fa64b7e8563ec081a2076"},
    {KetamaDialect::kSpy, KetamaKeyHash::kFnv164, "688c438d259df97207b939511fa6c2f3"},
    {KetamaDialect::kSpy, KetamaKeyHash::kFnv1a32, "5ba3b21e65206adc734fcaaddfe9d0ff"},
    {KetamaDialect::kSpy, KetamaKeyHash::kFnv132, "11a227ebbb4c440bcba485d8f0ea727a"},
    {KetamaDialect::kSpy, KetamaKeyHash::kOneAtATime, "a3c1fd7c299055203c7059270cd9a10e"},
    {KetamaDialect::kConsistent, KetamaKeyHash::kMd5, "66dcab358e20dbfdb339a25125b5a892"},
    {KetamaDialect::kConsistent, KetamaKeyHash::kFnv1a64, "a78323cb9e311ddc8edaed6e6f4a5ed3"},
    {KetamaDialect::kConsistent, KetamaKeyHash::kFnv164, "eeb975eb8bcb8a0286f5e001b9af9422"},
    {KetamaDialect::kConsistent, KetamaKeyHash::kFnv1a32, "b2d094cea6ab7cc684a83febedf7f296"},
    {KetamaDialect::kConsistent, KetamaKeyHash::kFnv132, "8f9733ce4b2d301f339f451a29ed6190"},
    {KetamaDialect::kConsistent, KetamaKeyHash::kOneAtATime, "4a29e33a294b1c7d818b41623fe8bcbd"},
};

// Short keys that differ in their last digits, long ones, and some with bytes above 127.
std::vector<std::string> client_keys() {
  std::vector<std::string> keys;
  for (int i = 0; i < 5000; ++i) {
    keys.push_back("key:" + std::to_string(i));
  }
  Digester digester;
  for (int i = 0; i < 4500; ++i) {
    keys.push_back(hex_of(digester.compute(DigestKind::kSha1, bytes_of(std::to_string(i)))));
  }
  for (int i = 0; i < 500; ++i) {
    keys.push_back("schlüssel:" + std::to_string(i));
  }
  return keys;
}

TEST(Ketama, gives_what_the_clients_give_for_ten_thousand_keys) {
  const std::vector<std::string> keys = client_keys();
  for (const Client& client : kClients) {
    RingOptions options = ketama_options(client.dialect);
    options.key_hash = client.key_hash;
    EXPECT_TRUE(options.has_client());
    const std::shared_ptr<HashRing> ring = empty_ring(options);
    const double weights[] = {3, 5, 2, 4, 1, 3, 5, 2};
    for (size_t i = 0; i < std::size(weights); ++i) {
      add(*ring, "10.0.1." + std::to_string(i + 1) + (i % 2 == 0 ? ":11211" : ":11311"),
          weights[i]);
    }
    ring->build();
    std::string output;
    for (const std::string& key : keys) {
      output += key + " " + owner_of(*ring, key) + "\n";
    }
    EXPECT_EQ(hex_of(Digester().compute(DigestKind::kMd5, bytes_of(output))), client.digest)
        << static_cast<int>(client.dialect) << " " << static_cast<int>(client.key_hash);
    expect_valid(*ring);
  }
}

TEST(Ketama, labels_are_the_clients) {
  using enum KetamaDialect;
  EXPECT_EQ(ketama_label(kLibketama, "a:11211"), "a:11211");
  EXPECT_EQ(ketama_label(kLibmemcached, "a:11211"), "a");
  EXPECT_EQ(ketama_label(kLibmemcached, "a:11212"), "a:11212");
  EXPECT_EQ(ketama_label(kLibmemcached, "a:112110"), "a:112110");
  EXPECT_EQ(ketama_label(kLibmemcached, ":11211"), "");
  EXPECT_EQ(ketama_label(kSpy, "a:11211"), "/a:11211");
  EXPECT_EQ(ketama_label(kConsistent, "a:11211"), "a");
}

TEST(Ketama, counts_hashes_as_the_clients_do) {
  std::vector<size_t> short_of_40;
  std::vector<size_t> short_in_libmemcached;
  for (size_t n = 1; n <= 300; ++n) {
    const auto total = static_cast<double>(n);
    const uint32_t hashes = ketama_hashes(KetamaDialect::kLibketama, 1, total, n);
    EXPECT_TRUE(hashes == 39 || hashes == 40) << n;
    if (hashes == 39) {
      short_of_40.push_back(n);
    }
    const uint32_t of_libmemcached = ketama_hashes(KetamaDialect::kLibmemcached, 1, total, n);
    if (of_libmemcached == 39 && n <= 100) {
      short_in_libmemcached.push_back(n);
    }
    EXPECT_EQ(ketama_hashes(KetamaDialect::kSpy, 1, total, n), of_libmemcached) << n;
  }
  EXPECT_EQ(ketama_hashes(KetamaDialect::kConsistent, 5, 7, 2), 100U);  // weights don't count
  EXPECT_EQ(short_of_40, (std::vector<size_t>{61, 122, 237, 244}));
  EXPECT_EQ(short_in_libmemcached, (std::vector<size_t>{25, 47, 50, 55, 61, 71, 94, 100}));
  const std::shared_ptr<HashRing> ring = empty_ring(ketama_options(KetamaDialect::kLibketama));
  add_nodes(*ring, 61);
  ring->build();
  EXPECT_EQ(ring->points().size(), 61U * 156);
}

TEST(Ketama, I2_small_weight_among_large_ones_gets_no_points) {
  const std::shared_ptr<HashRing> ring = empty_ring(ketama_options(KetamaDialect::kLibketama));
  add(*ring, "large", 1e6);
  const uint32_t small = add(*ring, "small", 1);
  ring->build();
  EXPECT_EQ(ring->share(small).share(), 0);
  EXPECT_EQ(ring->points().size(), 4U * 79);
  expect_valid(*ring);
}

TEST(Ketama, cuts_a_digest_in_four_little_endian_parts) {
  const std::shared_ptr<Ketama> ketama =
      Ketama::make(KetamaDialect::kLibketama, KetamaKeyHash::kMd5).value();
  // MD5("abc") = 90015098 3cd24fb0 d6963f7d 28e17f72
  const std::array<uint32_t, 4> parts = ketama->digest(bytes_of("abc"));
  EXPECT_EQ(parts, (std::array<uint32_t, 4>{0x98500190, 0xB04FD23C, 0x7D3F96D6, 0x727FE128}));
  EXPECT_EQ(ketama->hash(bytes_of("abc")), parts[0]);
  EXPECT_EQ(Ketama::position(parts[0]), 0x9850019000000000U);
}

}  // namespace
}  // namespace ring_ketama_test
}  // namespace cuckoo
