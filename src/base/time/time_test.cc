#include "base/time/time.h"

#include <gtest/gtest.h>

#include "base/time/bounded_seconds.h"

namespace porthole {
namespace {

using namespace std::chrono_literals;

TEST(Timestamp, ReadsRfc3339AndWritesUtc) {
    struct {
        const char* text;
        const char* seconds;
        const char* micros;
    } const rows[] = {
        {"2024-05-01T10:00:00Z", "2024-05-01T10:00:00Z", "2024-05-01T10:00:00.000000Z"},
        {"2024-05-01T10:00:00.123456789Z", "2024-05-01T10:00:00Z", "2024-05-01T10:00:00.123456Z"},
        {"2024-05-01T10:00:00.5+02:00", "2024-05-01T08:00:00Z", "2024-05-01T08:00:00.500000Z"},
        {"1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000000Z"},
        {"1969-12-31T23:59:59.25Z", "1969-12-31T23:59:59Z", "1969-12-31T23:59:59.250000Z"},
        {"9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z", "9999-12-31T23:59:59.000000Z"},
        {"2024-02-29T00:00:00-11:30", "2024-02-29T11:30:00Z", "2024-02-29T11:30:00.000000Z"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.text);
        const auto seconds = Timestamp::parse(row.text);
        const auto micros = MicroTimestamp::parse(row.text);
        ASSERT_TRUE(seconds && micros);
        EXPECT_EQ(seconds->to_string(), row.seconds);
        EXPECT_EQ(micros->to_string(), row.micros);
    }
}

TEST(Timestamp, SecondsOfAnObjectMayBeAnyNumber) {
    const Timestamp now = Timestamp::parse("2026-01-01T00:00:00Z").value();
    EXPECT_EQ(now + bounded_seconds(90), now + 90s);
    EXPECT_EQ((now + bounded_seconds(INT64_MAX)).to_string().substr(0, 4), "2125");
    EXPECT_EQ((now + -bounded_seconds(INT64_MAX)).to_string().substr(0, 4), "1926");
    EXPECT_EQ(now + bounded_seconds(INT64_MIN), now + -bounded_seconds(INT64_MAX));
}

TEST(Timestamp, RefusesInGosWords) {
    const auto message = [](const char* text) { return Timestamp::parse(text).error().message; };
    const std::string layout = " as \"2006-01-02T15:04:05Z07:00\": cannot parse ";
    EXPECT_EQ(message("x"), "parsing time \"x\"" + layout + "\"x\" as \"2006\"");
    EXPECT_EQ(message("2024-05-01"), "parsing time \"2024-05-01\"" + layout + "\"\" as \"T\"");
    EXPECT_EQ(message("2024-05-01T10:00:00"), "parsing time \"2024-05-01T10:00:00\"" + layout + "\"\" as \"Z07:00\"");
    EXPECT_EQ(message("2024-13-01T10:00:00Z"), "parsing time \"2024-13-01T10:00:00Z\": month out of range");
    EXPECT_EQ(message("2023-02-29T10:00:00Z"), "parsing time \"2023-02-29T10:00:00Z\": day out of range");
    EXPECT_EQ(message("9999-12-31T23:59:59-01:00"), "parsing time \"9999-12-31T23:59:59-01:00\": year out of range");
    EXPECT_EQ(message("0000-01-01T00:00:00+01:00"), "parsing time \"0000-01-01T00:00:00+01:00\": year out of range");
    EXPECT_EQ(message("2024-05-01T10:00:00Zx"), "parsing time \"2024-05-01T10:00:00Zx\": extra text: \"x\"");
}

TEST(Timestamp, DifferencesAndSumsAreCutToTheRangeOfADuration) {
    const Timestamp first = *Timestamp::parse("0002-01-01T00:00:00Z"), now = *Timestamp::parse("2024-05-01T10:00:00Z"),
                    last = *Timestamp::parse("9999-12-31T23:59:59Z");
    EXPECT_EQ(last - first, std::chrono::nanoseconds::max());
    EXPECT_EQ(now - first, std::chrono::nanoseconds::max());
    EXPECT_LT(first - last, std::chrono::nanoseconds::min() + std::chrono::hours(1));
    EXPECT_GT(last + std::chrono::hours(1), now);
    EXPECT_LT(first + std::chrono::hours(-1), now);
}

TEST(Timestamp, IsZeroUntilItIsSet) {
    EXPECT_TRUE(Timestamp().is_zero());
    EXPECT_TRUE(Timestamp::parse("0001-01-01T00:00:00Z")->is_zero());
    EXPECT_TRUE(Timestamp::parse("0001-01-01T00:00:00.5Z")->is_zero());
    EXPECT_FALSE(Timestamp::from_seconds(0).is_zero());
    EXPECT_LT(Timestamp(), Timestamp::from_seconds(-1));
    EXPECT_EQ(Timestamp().to_string(), "");
    EXPECT_EQ(Timestamp::from_seconds(100) - MicroTimestamp::from_ticks(99'500'000), 500ms);
    EXPECT_EQ((Timestamp::from_seconds(100) + 90s).seconds(), 190);
}

TEST(Duration, IsWrittenAndReadAsGoDoes) {
    struct {
        std::chrono::nanoseconds duration;
        const char* text;
    } const rows[] = {
        {0s, "0s"},        {1ns, "1ns"},         {1500ns, "1.5µs"},          {2ms, "2ms"}, {1500ms, "1.5s"}, {90s, "1m30s"},
        {3600s, "1h0m0s"}, {-90min, "-1h30m0s"}, {36h + 5ms, "36h0m0.005s"},
    };
    for (const auto& row : rows) {
        EXPECT_EQ(format_duration(row.duration), row.text);
        const auto parsed = parse_duration(row.text);
        ASSERT_TRUE(parsed) << row.text;
        EXPECT_EQ(*parsed, row.duration);
    }
    EXPECT_EQ(parse_duration("1.5h").value(), 90min);
    EXPECT_EQ(parse_duration("5").error().message, "time: missing unit in duration \"5\"");
    EXPECT_EQ(parse_duration("").error().message, "time: invalid duration \"\"");
    EXPECT_EQ(parse_duration("5d").error().message, "time: unknown unit \"d\" in duration \"5d\"");
    EXPECT_FALSE(parse_duration("9999999h"));
}

TEST(Age, IsShort) {
    struct {
        std::chrono::nanoseconds age;
        const char* text;
    } const rows[] = {
        {-5s, "<invalid>"}, {-1s, "0s"},      {0s, "0s"},      {119s, "119s"},      {120s, "2m"},         {150s, "2m30s"},
        {10min, "10m"},     {179min, "179m"}, {3h, "3h"},      {200min, "3h20m"},   {8h + 30min, "8h"},   {47h, "47h"},
        {48h, "2d"},        {50h, "2d2h"},    {8 * 24h, "8d"}, {400 * 24h, "400d"}, {800 * 24h, "2y70d"}, {3000 * 24h, "8y"},
    };
    for (const auto& row : rows) EXPECT_EQ(format_age(row.age), row.text);
}

}  // namespace
}  // namespace porthole
