// Names that clients can create at any rate make no metric series without a bound.
#include <gtest/gtest.h>

#include <algorithm>

#include "apiserver/admission/condition_metrics.h"
#include "apiserver/admission/policies/policy_metrics.h"
#include "apiserver/admission/webhook_metrics.h"

namespace porthole::apiserver {
namespace {

constexpr int Names = 1500;

template <class Metrics>
std::string text_of(const Metrics& metrics) {
    std::string text;
    metrics.append(text);
    return text;
}

std::size_t lines_with(const std::string& text, const std::string& start) {
    std::size_t lines = 0;
    for (std::size_t at = text.find(start); at != text.npos; at = text.find(start, at + 1)) ++lines;
    return lines;
}

TEST(AdmissionMetrics, CountFurtherWebhooksTogether) {
    AdmissionWebhookMetrics metrics;
    for (int i = 0; i < Names; ++i)
        metrics.add({.name = "w" + std::to_string(i) + ".example.com", .type = "admit", .operation = "CREATE", .code = 200});
    const std::string text = text_of(metrics);
    EXPECT_EQ(lines_with(text, "apiserver_admission_webhook_request_total{"), 1025u);
    EXPECT_NE(text.find("name=\"\",operation=\"CREATE\",rejected=\"false\",type=\"admit\"} 476"), text.npos);
}

TEST(AdmissionMetrics, CountFurtherConditionsTogether) {
    AdmissionConditionMetrics metrics;
    for (int i = 0; i < Names; ++i)
        metrics.add({.name = "w" + std::to_string(i), .kind = "webhook", .type = "admit", .operation = "CREATE", .excluded = true});
    EXPECT_EQ(lines_with(text_of(metrics), "apiserver_admission_match_condition_exclusions_total{"), 1025u);
}

TEST(AdmissionMetrics, CountFurtherPoliciesTogether) {
    AdmissionPolicyMetrics metrics;
    for (int i = 0; i < Names; ++i)
        metrics.add_validation({.policy = "p" + std::to_string(i), .binding = "b", .error_type = "no_error", .enforcement = "allow"});
    EXPECT_EQ(lines_with(text_of(metrics), "apiserver_validating_admission_policy_check_total{"), 1025u);
}

}  // namespace
}  // namespace porthole::apiserver
