#include "apiserver/resource_metrics/kubelet_samples.h"

#include <gtest/gtest.h>

namespace porthole::apiserver {
namespace {

constexpr std::int64_t Now = 1'700'000'000'000'000'000;

constexpr const char* Told =
    R"(# HELP container_cpu_usage_seconds_total [STABLE] Cumulative cpu time consumed by the container in core-seconds
# TYPE container_cpu_usage_seconds_total counter
container_cpu_usage_seconds_total{container="c",namespace="ns",pod="p"} 4.710169 1633253812125
container_memory_working_set_bytes{container="c",namespace="ns",pod="p"} 1.253376e+06 1633253812130
container_start_time_seconds{container="c",namespace="ns",pod="p"} 1.633252712e+09 1633253812125
node_cpu_usage_seconds_total 357.35491 1633253809720
node_memory_working_set_bytes 1.616273408e+09 1633253809720
pod_cpu_usage_seconds_total{namespace="ns",pod="p"} 4.67812 1633253803935
scrape_error 0
)";

TEST(KubeletSamples, AreReadAsAKubeletTellsThem) {
    const auto samples = parse_kubelet_samples(Told, Now);
    ASSERT_TRUE(samples) << samples.error().message;
    EXPECT_EQ(samples->node, (UsagePoint{.time = 1633253809720'000'000, .cpu = 357'354'910'000, .memory = 1616273408}));
    ASSERT_EQ(samples->pods.size(), 1u);
    EXPECT_EQ(samples->pods.at("ns/p").at("c"),
              (UsagePoint{.started_at = 1633252712'000'000'000, .time = 1633253812125'000'000, .cpu = 4'710'169'000, .memory = 1253376}));
}

TEST(KubeletSamples, WithoutATimeAreOfNow) {
    const auto samples = parse_kubelet_samples("node_cpu_usage_seconds_total 1\nnode_memory_working_set_bytes 2\n", Now);
    ASSERT_TRUE(samples && samples->node);
    EXPECT_EQ(samples->node->time, Now);
}

TEST(KubeletSamples, LeaveOutWhatIsIncomplete) {
    const auto container = [](const std::string& name, const char* cpu, const char* memory) {
        const std::string labels = "{container=\"" + name + "\",namespace=\"ns\",pod=\"p\"} ";
        return (cpu ? "container_cpu_usage_seconds_total" + labels + cpu + "\n" : "") +
               (memory ? "container_memory_working_set_bytes" + labels + memory + "\n" : "");
    };
    struct {
        const char* name;
        std::string text;
        std::size_t pods;
    } const rows[] = {
        {"complete", container("c", "1", "1"), 1},
        {"no memory", container("c", "1", nullptr), 0},
        {"memory of zero", container("c", "1", "0"), 0},
        {"no processor time", container("c", nullptr, "1"), 0},
        {"processor time of zero", container("c", "0", "1"), 0},
        {"not a number", container("c", "NaN", "1"), 0},
        {"endless", container("c", "1", "+Inf"), 0},
        {"negative", container("c", "-1", "1"), 0},
        {"too much", container("c", "1e300", "1"), 0},
        {"one of two", container("c", "1", "1") + container("d", "1", "0"), 0},
        {"one of which only the start is known",
         container("c", "1", "1") + "container_start_time_seconds{container=\"d\",namespace=\"ns\",pod=\"p\"} 5\n", 1},
        {"no node", "node_cpu_usage_seconds_total 1\n", 0},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        const auto samples = parse_kubelet_samples(row.text, Now);
        ASSERT_TRUE(samples);
        EXPECT_EQ(samples->pods.size(), row.pods);
        EXPECT_FALSE(samples->node);
    }
}

TEST(KubeletSamples, TakeLabelsInAnyFormOfTheText) {
    const auto samples = parse_kubelet_samples(
        "container_cpu_usage_seconds_total { pod = \"p\" , x=\"a\\\"},\\\\\\n\", namespace=\"ns\",container=\"c\", }\t+1\r\n"
        "container_memory_working_set_bytes{pod=\"p\",namespace=\"ns\",container=\"c\"} 7 5",
        Now);
    ASSERT_TRUE(samples) << samples.error().message;
    EXPECT_EQ(samples->pods.at("ns/p").at("c").memory, 7u);
}

TEST(KubeletSamples, RefuseWhatIsNotInTheForm) {
    for (const char* text : {"<html>", "a", "a{", "a{b}", "a{b=c} 1", "a{b=\"c} 1", "a{b=\"c\"d=\"e\"} 1", "a b", "a 1 b", "a 1 2 3",
                             "a 1 -5", "a 1 99999999999999999", "{} 1", "a{b=\"c\"}"}) {
        SCOPED_TRACE(text);
        EXPECT_FALSE(parse_kubelet_samples(text, Now));
    }
}

}  // namespace
}  // namespace porthole::apiserver
