#include "base/socket_error.h"

#include <gtest/gtest.h>

namespace porthole {
namespace {

TEST(SocketError, CodesOfWindowsHaveTheWordsOfLinux) {
    struct {
        int code;
        const char* words;
    } const rows[] = {
        {10004, "interrupted system call"},  {10048, "address already in use"},   {10051, "network is unreachable"},
        {10054, "connection reset by peer"}, {10060, "connection timed out"},     {10061, "connection refused"},
        {11001, "host not found"},           {11004, "no address for this name"},
    };
    for (const auto& row : rows) EXPECT_EQ(socket_error_words(row.code), row.words) << row.code;
}

TEST(SocketError, OtherCodesHaveNone) {
    for (const int code : {0, -1, 5, 98, 10003, 10049 + 1000, 12000}) EXPECT_EQ(socket_error_words(code), "") << code;
}

}  // namespace
}  // namespace porthole
