#include "base/values/quantity.h"

#include <gtest/gtest.h>

namespace porthole {
namespace {

Quantity parse(std::string_view text) {
    auto quantity = Quantity::parse(text);
    EXPECT_TRUE(quantity) << text;
    return quantity.value_or(Quantity());
}

TEST(Quantity, IsWrittenInCanonicalForm) {
    struct {
        const char* text;
        const char* canonical;
    } const rows[] = {
        {"0", "0"},
        {"-0", "0"},
        {"0Mi", "0"},
        {"1", "1"},
        {"+1", "1"},
        {"100m", "100m"},
        {"1000m", "1"},
        {"0.5", "500m"},
        {".5", "500m"},
        {"5.", "5"},
        {"1.5Gi", "1536Mi"},
        {"1024Mi", "1Gi"},
        {"1023", "1023"},
        {"512Ki", "512Ki"},
        {"0.5Ki", "512"},
        {"1000", "1k"},
        {"1000000", "1M"},
        {"1e3", "1e3"},
        {"1E3", "1e3"},
        {"12e6", "12e6"},
        {"1e4", "10e3"},
        {"1k", "1k"},
        {"1500", "1500"},
        {"1n", "1n"},
        {"0.1n", "1n"},
        {"1.0000000001", "1000000001n"},
        {"-1.5", "-1500m"},
        {"100E", "9223372036854775807"},
        {"-9Ei", "-9223372036854775807"},
        {"8Ei", "9223372036854775807"},
        {"7Ei", "7Ei"},
        {"0001.10", "1100m"},
        {"9223372036854775807", "9223372036854775807"},
        {"1e-3", "1e-3"},
        {"1.5Mi", "1536Ki"},
        {"1000Ki", "1000Ki"},
        {"0.001Ki", "1024m"},
        {"1e100", "9223372036854775807"},
        {"1e-100", "1e-9"},
        {"2048", "2048"},
        {"3Pi", "3Pi"},
    };
    for (const auto& row : rows) EXPECT_EQ(parse(row.text).to_string(), row.canonical) << row.text;
}

TEST(Quantity, RefusesWhatKubernetesRefuses) {
    const std::string format = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
    const std::string suffix = "unable to parse quantity's suffix";
    struct {
        const char* text;
        std::string message;
    } const rows[] = {
        {"", format},      {"abc", format},
        {" 1", format},    {"1 ", format},
        {"1.2.3", format}, {"1x", format},
        {"-", format},     {"1ki", suffix},
        {"1e", suffix},    {"1Kii", suffix},
        {"1EE", suffix},   {"1K", suffix},
        {"1mm", suffix},   {".", "unable to parse numeric part of quantity"},
    };
    for (const auto& row : rows) {
        const auto quantity = Quantity::parse(row.text);
        ASSERT_FALSE(quantity) << row.text;
        EXPECT_EQ(quantity.error().message, row.message) << row.text;
    }
}

TEST(Quantity, RoundsUpToCoarserUnits) {
    EXPECT_EQ(parse("100m").value(), 1);
    EXPECT_EQ(parse("-100m").value(), -1);
    EXPECT_EQ(parse("1500m").milli_value(), 1500);
    EXPECT_EQ(parse("1n").milli_value(), 1);
    EXPECT_EQ(parse("2Gi").value(), 2147483648);
    EXPECT_EQ(parse("100n").rounded_up_to_milli().to_string(), "1m");
    EXPECT_EQ(parse("9223372036854775807").milli_value(), INT64_MAX);
}

TEST(Quantity, AddsAndComparesExactly) {
    EXPECT_EQ((parse("0.1") + parse("0.2")).to_string(), "300m");
    EXPECT_EQ((parse("1Gi") + parse("1M")).to_string(), "1074741824");
    EXPECT_EQ((Quantity() + parse("1Gi")).to_string(), "1Gi") << "zero takes the other's form";
    EXPECT_EQ((parse("1") - parse("1500m")).to_string(), "-500m");
    EXPECT_EQ(parse("1Gi"), parse("1024Mi"));
    EXPECT_LT(parse("999m"), parse("1"));
    EXPECT_EQ((parse("9E") + parse("9E")).to_string(), "9223372036854775807");
}

}  // namespace
}  // namespace porthole
