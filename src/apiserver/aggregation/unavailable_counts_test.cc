#include "apiserver/aggregation/unavailable_counts.h"

#include <gtest/gtest.h>

namespace porthole::apiserver {
namespace {

TEST(UnavailableCounts, AreOfSoManyNamesAndReasonsOnly) {
    UnavailableCounts counts;
    for (int i = 0; i < 5000; ++i) counts.add("v1.g" + std::to_string(i), "ServiceNotFound");
    counts.add("v1.g0", "ServiceNotFound");
    std::string text;
    counts.append(text);
    std::size_t series = 0;
    for (std::size_t at = text.find("_total{"); at != text.npos; at = text.find("_total{", at + 1)) ++series;
    EXPECT_EQ(series, 4096u);
    EXPECT_NE(text.find("{name=\"v1.g0\",reason=\"ServiceNotFound\"} 2\n"), text.npos) << "those that are known are counted on";
    EXPECT_EQ(text.find("v1.g4096\""), text.npos);
}

}  // namespace
}  // namespace porthole::apiserver
