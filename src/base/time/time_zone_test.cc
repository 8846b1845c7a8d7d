#include "base/time/time_zone.h"

#include <gtest/gtest.h>

namespace porthole {
namespace {

using namespace std::chrono;

std::string number(std::uint64_t value, int bytes) {
    std::string text;
    for (int shift = (bytes - 1) * 8; shift >= 0; shift -= 8) text += static_cast<char>(value >> shift & 0xff);
    return text;
}

struct Listed {
    std::int64_t time;
    std::uint8_t type;
};
/// A file of version 2 with these changes, types by offset, and rule.
std::string zone_file(const std::vector<Listed>& changes, const std::vector<std::int32_t>& offsets, const std::string& rule) {
    std::string file;
    for (const int size : {4, 8}) {
        const std::size_t times = size == 4 ? 0 : changes.size();
        file += "TZif2" + std::string(15, '\0');
        for (const std::size_t count : {std::size_t(0), std::size_t(0), std::size_t(0), times, offsets.size(), std::size_t(4)})
            file += number(count, 4);
        for (std::size_t i = 0; i < times; ++i) file += number(static_cast<std::uint64_t>(changes[i].time), 8);
        for (std::size_t i = 0; i < times; ++i) file += static_cast<char>(changes[i].type);
        for (const std::int32_t offset : offsets) file += number(static_cast<std::uint32_t>(offset), 4) + std::string(2, '\0');
        file += std::string("XXX\0", 4);
    }
    return file + "\n" + rule + "\n";
}

sys_seconds at(int y, unsigned m, unsigned d, int h, int min = 0) {
    return sys_seconds(sys_days(year(y) / month(m) / day(d))) + hours(h) + minutes(min);
}

TEST(TimeZone, KnowsListedChanges) {
    const auto zone = TimeZone::parse(zone_file({{1000, 1}, {2000, 0}}, {3600, 7200}, ""));
    ASSERT_TRUE(zone);
    EXPECT_EQ(zone->offset_at(sys_seconds(seconds(999))), 1h);
    EXPECT_EQ(zone->offset_at(sys_seconds(seconds(1000))), 2h);
    EXPECT_EQ(zone->offset_at(sys_seconds(seconds(2000))), 1h);
}

TEST(TimeZone, FollowsItsRuleAfterTheLastListedChange) {
    struct {
        const char *name, *rule;
        sys_seconds time;
        minutes offset;
    } const rows[] = {
        {"Berlin in winter", "CET-1CEST,M3.5.0,M10.5.0/3", at(2031, 1, 1, 0), 60min},
        {"Berlin just before summer time", "CET-1CEST,M3.5.0,M10.5.0/3", at(2031, 3, 30, 0, 59), 60min},
        {"Berlin just after", "CET-1CEST,M3.5.0,M10.5.0/3", at(2031, 3, 30, 1), 120min},
        {"Berlin's last hour of summer time", "CET-1CEST,M3.5.0,M10.5.0/3", at(2031, 10, 26, 0, 59), 120min},
        {"Berlin after it", "CET-1CEST,M3.5.0,M10.5.0/3", at(2031, 10, 26, 1), 60min},
        {"Sydney at Christmas", "AEST-10AEDT,M10.1.0,M4.1.0/3", at(2031, 12, 25, 0), 660min},
        {"Sydney in July", "AEST-10AEDT,M10.1.0,M4.1.0/3", at(2031, 7, 1, 0), 600min},
        {"New York", "EST5EDT,M3.2.0,M11.1.0", at(2031, 7, 1, 0), -240min},
        {"Kathmandu", "<+0545>-5:45", at(2031, 7, 1, 0), 345min},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        const auto zone = TimeZone::parse(zone_file({}, {0}, row.rule));
        ASSERT_TRUE(zone);
        EXPECT_EQ(zone->offset_at(row.time), row.offset);
    }
}

TEST(TimeZone, RefusesWhatIsNoZoneFile) {
    const std::string good = zone_file({{1000, 1}}, {3600, 7200}, "CET-1");
    EXPECT_FALSE(TimeZone::parse(""));
    EXPECT_FALSE(TimeZone::parse("#!/bin/sh\n" + std::string(100, ' ')));
    for (std::size_t length = 0; length + 8 < good.size(); ++length) EXPECT_FALSE(TimeZone::parse(good.substr(0, length))) << length;
    std::string bad_type = good;
    bad_type[44 + 2 * 6 + 4 + 44 + 8] = 9;
    EXPECT_FALSE(TimeZone::parse(bad_type));
}

}  // namespace
}  // namespace porthole
