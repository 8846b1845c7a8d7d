#include "schema/structural/string_formats.h"

#include <gtest/gtest.h>

namespace porthole::schema {
namespace {

TEST(StringFormats, TakeWhatUpstreamTakes) {
    struct {
        const char *format, *good, *bad;
    } const rows[] = {
        {"date", "2024-02-29", "2023-02-29"},
        {"date-time", "2024-01-02T03:04:05.678Z", "2024-01-02 03:04:05"},
        {"date-time", "2024-01-02T03:04:05+01:00", "2024-13-02T03:04:05Z"},
        {"ipv4", "10.0.0.1", "10.0.0.256"},
        {"ipv6", "fe80::1", "10.0.0.1"},
        {"cidr", "10.1.2.3/8", "10.0.0.0/33"},
        {"mac", "01:23:45:67:89:ab", "01:23:45:67:89"},
        {"uuid", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "a0eebc99"},
        {"uuid4", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "a0eebc99-9c0b-3ef8-bb6d-6bb9bd380a11"},
        {"hostname", "a.example.com", "-a.example.com"},
        {"email", "a@example.com", "example.com"},
        {"uri", "https://example.com/%20x", "example.com/x"},
        {"byte", "aGVsbG8=", "a"},
        {"duration", "1h30m", "1 fortnight"},
        {"duration", "3 days", "days"},
        {"hexcolor", "#00ff7f", "#00ff7"},
        {"rgbcolor", "rgb(0, 255, 3)", "rgb(0,256,3)"},
        {"isbn10", "0-306-40615-2", "0-306-40615-3"},
        {"isbn13", "978-0-306-40615-7", "978-0-306-40615-8"},
        {"creditcard", "4111 1111 1111 1111", "4111 1111 1111 1112"},
        {"ssn", "111-11-1111", "1111-1-1111"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.format);
        const StringFormat check = find_string_format(row.format);
        ASSERT_NE(check, nullptr);
        EXPECT_TRUE(check(row.good)) << row.good;
        EXPECT_FALSE(check(row.bad)) << row.bad;
    }
    EXPECT_EQ(find_string_format("no-such-format"), nullptr);
}

}  // namespace
}  // namespace porthole::schema
