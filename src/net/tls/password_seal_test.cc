#include "net/tls/password_seal.h"

#include <gtest/gtest.h>

namespace porthole::net {
namespace {

Reason refusal(std::string_view password, std::string_view sealed) {
    const auto opened = open_with_password(password, sealed);
    return opened ? Reason::Unknown : opened.error().reason;
}

TEST(PasswordSealTest, OpensWithTheSamePasswordOnly) {
    const std::string sealed = seal_with_password("correct horse", "a key");
    EXPECT_EQ(*open_with_password("correct horse", sealed), "a key");
    EXPECT_EQ(refusal("correct horsf", sealed), Reason::Forbidden);
    EXPECT_EQ(sealed.find("a key"), sealed.npos);
    EXPECT_NE(seal_with_password("correct horse", "a key"), sealed) << "the salt is fresh";
}

TEST(PasswordSealTest, EveryChangedByteIsRefused) {
    const std::string sealed = seal_with_password("p", "x");
    const std::size_t body = sealed.size() - 12 - 1 - 16, salt = body - 16, cost = salt - 3;
    struct {
        const char* name;
        std::size_t at;
        Reason reason;
    } const rows[] = {{"magic", 0, Reason::BadRequest},       {"version", 16, Reason::Conflict},
                      {"r", cost + 1, Reason::BadRequest},    {"p", cost + 2, Reason::BadRequest},
                      {"salt", salt, Reason::Forbidden},      {"nonce", body, Reason::Forbidden},
                      {"text", body + 12, Reason::Forbidden}, {"tag", sealed.size() - 1, Reason::Forbidden}};
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        std::string changed = sealed;
        changed[row.at] = static_cast<char>(changed[row.at] ^ 1);
        EXPECT_EQ(refusal("p", changed), row.reason);
    }
}

TEST(PasswordSealTest, WhatCostsTooMuchIsRefusedUnderived) {
    std::string sealed = seal_with_password("p", "x");
    const std::size_t cost = std::string_view("porthole-sealed:1:").size();
    for (const char log_n : {'\0', '\x0d', '\x12', '\xff'}) {
        sealed[cost] = log_n;
        EXPECT_EQ(refusal("p", sealed), Reason::BadRequest);
    }
    EXPECT_EQ(refusal("p", "porthole-sealed:1:"), Reason::BadRequest);
    EXPECT_EQ(refusal("p", ""), Reason::BadRequest);
}

}  // namespace
}  // namespace porthole::net
