#include "server/scheduler/siphash.h"

#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace affine {
namespace {

constexpr HashKey kReferenceKey = {0x0706050403020100, 0x0f0e0d0c0b0a0908};

std::string Hex(const Hash128& hash) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const uint64_t word : {hash.low, hash.high}) {
    for (int shift = 0; shift < 64; shift += 8) {
      text += kDigits[word >> (shift + 4) & 15];
      text += kDigits[word >> shift & 15];
    }
  }
  return text;
}

// The reference's table for the key 00 01 .. 0f and the message 00 01 .. (length - 1); these lines
// also by OpenSSL: `openssl mac -macopt hexkey:000102..0f -macopt size:16 -in FILE SIPHASH`.
TEST(SipHashTest, GivesTheReferenceVectors) {
  const std::vector<std::pair<size_t, std::string>> vectors = {
      {0, "a3817f04ba25a8e66df67214c7550293"},  {1, "da87c1d86b99af44347659119b22fc45"},
      {2, "8177228da4a45dc7fca38bdef60affe4"},  {3, "9c70b60c5267a94e5f33b6b02985ed51"},
      {4, "f88164c12d9c8faf7d0f6e7c7bcd5579"},  {7, "a1f1ebbed8dbc153c0b84aa61ff08239"},
      {8, "3b62a9ba6258f5610f83e264f31497b4"},  {9, "264499060ad9baabc47f8b02bb6d71ed"},
      {15, "5493e99933b0a8117e08ec0f97cfc3d9"}, {16, "6ee2a4ca67b054bbfd3315bf85230577"},
      {17, "473d06e8738db89854c066c47ae47740"}, {31, "2939b0183223fafc1723de4f52c43d35"},
      {63, "5150d1772f50834a503e069a973fbd7c"}};
  std::array<uint8_t, 64> message;
  std::iota(message.begin(), message.end(), uint8_t{0});
  for (const auto& [length, expected] : vectors) {
    EXPECT_EQ(Hex(SipHash128(kReferenceKey, std::span(message).first(length))), expected)
        << "length " << length;
  }
}

TEST(SipHashTest, AnotherKeyGivesAnotherHash) {
  const std::vector<uint8_t> message = {1, 2, 3};
  EXPECT_NE(SipHash128({1, 2}, message), SipHash128({1, 3}, message));
  EXPECT_NE(SipHash128({1, 2}, message), SipHash128({2, 2}, message));
}

TEST(SipHashTest, WordsAddedSinglyEqualTheMessageAsAWhole) {
  std::array<uint8_t, 20> message;
  std::iota(message.begin(), message.end(), uint8_t{0});
  SipHasher hasher(kReferenceKey);
  hasher.Add(0x0706050403020100);
  hasher.Add(0x0f0e0d0c0b0a0908);
  EXPECT_EQ(hasher.Finish(std::span(message).subspan(16)), SipHash128(kReferenceKey, message));
}

}  // namespace
}  // namespace affine
