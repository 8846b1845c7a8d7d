#include "apiserver/handlers/metrics.h"

#include <gtest/gtest.h>

using namespace std::chrono_literals;

namespace porthole::apiserver {
namespace {

RequestInfo request(const std::string& verb, const std::string& group, const std::string& resource) {
    RequestInfo info;
    info.is_resource = true;
    info.verb = verb;
    info.group = group;
    info.version = "v1";
    info.resource = resource;
    return info;
}

void count(RequestMetrics& metrics, const RequestInfo& info) {
    metrics.begin(info, true);
    metrics.end(info, true, false, 200, 1ms);
}

std::string text_of(const RequestMetrics& metrics) {
    std::string text;
    metrics.append(text);
    return text;
}

std::size_t lines_with(const std::string& text, std::string_view part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
}

TEST(RequestMetrics, ResourcesThatComeAndGoAreCountedTogetherOnceThereAreManySeries) {
    RequestMetrics metrics;
    count(metrics, request("list", "", "pods"));
    // A watch that began while there was room ends when there is none.
    const RequestInfo early = request("watch", "early.example", "things"), late = request("watch", "late.example", "things");
    metrics.begin(early, true);
    for (std::size_t i = 0; i < RequestMetrics::MostSeries + 100; ++i)
        count(metrics, request("list", "g" + std::to_string(i) + ".example", "things"));
    metrics.end(early, true, false, 200, 1ms);
    metrics.begin(late, true);
    metrics.end(late, true, false, 200, 1ms);
    count(metrics, request("list", "", "pods"));

    const std::string text = text_of(metrics);
    EXPECT_LE(lines_with(text, "\napiserver_request_total{"), RequestMetrics::MostSeries + 2);
    const auto total = [](const std::string& verb, const std::string& group, const std::string& version, const std::string& resource,
                          const std::string& scope) {
        return "apiserver_request_total{verb=\"" + verb + "\",group=\"" + group + "\",version=\"" + version + "\",resource=\"" + resource +
               "\",subresource=\"\",scope=\"" + scope + "\",component=\"apiserver\",dry_run=\"\",code=\"200\"}";
    };
    EXPECT_TRUE(text.contains(total("LIST", "", "v1", "pods", "cluster") + " 2\n")) << "what was counted before still is";
    EXPECT_TRUE(text.contains(total("LIST", "", "", "", "") + " 102\n"));
    EXPECT_TRUE(text.contains(total("WATCH", "early.example", "v1", "things", "cluster") + " 1\n"));
    EXPECT_TRUE(text.contains(total("WATCH", "", "", "", "") + " 1\n"));
    EXPECT_EQ(lines_with(text, "\napiserver_longrunning_requests{"), 2u);
    EXPECT_FALSE(text.contains("} -1\n"));
}

}  // namespace
}  // namespace porthole::apiserver
