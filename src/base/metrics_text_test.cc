#include "base/metrics_text.h"

#include <gtest/gtest.h>

namespace porthole {
namespace {

TEST(MetricFamily, IsPrometheusText) {
    std::string out = "before 1\n";
    const MetricFamily family(out, "waits_seconds", "histogram", "Time that requests waited.");
    family.add_part("_bucket", metric_label("level", "system") + "," + metric_label("le", metric_number(0.25)), "3");
    family.add_part("_sum", metric_label("level", "system"), metric_number(1.5));
    family.add("", 12345678901234567u);
    family.add("", 0.1 + 0.2);
    family.add("", "7 1700000000000");
    EXPECT_EQ(out,
              "before 1\n"
              "# HELP waits_seconds Time that requests waited.\n"
              "# TYPE waits_seconds histogram\n"
              "waits_seconds_bucket{level=\"system\",le=\"0.25\"} 3\n"
              "waits_seconds_sum{level=\"system\"} 1.5\n"
              "waits_seconds 12345678901234567\n"
              "waits_seconds 0.3\n"
              "waits_seconds 7 1700000000000\n");
}

}  // namespace
}  // namespace porthole
