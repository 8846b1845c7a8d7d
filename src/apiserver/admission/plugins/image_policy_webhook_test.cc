#include "apiserver/admission/admission_fixture.h"
#include "apiserver/outgoing/outgoing_fixture.h"
#include "schema/json/json.h"

namespace porthole::apiserver {
namespace {

using namespace std::chrono_literals;
using namespace api::core::v1;

constexpr const char* Url = "https://images.test/policy";

class ImagePolicyTest : public AdmissionTest {
protected:
    AdmissionPluginPtr make(const std::string& more = "") {
        auto made = try_make(more);
        EXPECT_TRUE(made) << made.error().message;
        return made ? std::move(*made) : nullptr;
    }
    Result<AdmissionPluginPtr> try_make(const std::string& more) {
        servers_.write_kubeconfig("/hook", Url);
        configurations_["ImagePolicyWebhook"] =
            *schema::parse_json(R"({"imagePolicy":{"kubeConfigFile":"/hook")" + (more.empty() ? "" : "," + more) + "}}");
        given_.configurations = &configurations_;
        given_.outgoing = &servers_;
        return make_image_policy_webhook(given_);
    }
    void answer(std::string status) {
        server_.answer = [=](const net::HttpRequest&) {
            return net::HttpResponse{
                .code = 200,
                .headers = {},
                .body = R"({"apiVersion":"imagepolicy.k8s.io/v1alpha1","kind":"ImageReview","status":)" + status + "}"};
        };
    }
    static Pod pod(const char* image = "i:1") {
        Pod pod = named<Pod>("a", "web");
        pod.spec.containers.emplace_back().image = image;
        pod.spec.init_containers.emplace_back().image = "init:1";
        pod.metadata.annotations = {{"x.image-policy.k8s.io/ticket", "7"}, {"other", "secret"}};
        return pod;
    }

    FakeServers servers_{loop_};
    FakeServers::Server& server_ = servers_.at(Url);
    AdmissionConfigurations configurations_;
};

TEST_F(ImagePolicyTest, TheServerIsToldTheImagesAndTheAnnotationsForIt) {
    auto plugin = make();
    answer(R"({"allowed":true})");
    EXPECT_EQ(create(*plugin, pod()), "");
    ASSERT_EQ(server_.requests.size(), 1u);
    EXPECT_EQ(
        server_.requests[0].body,
        R"({"kind":"ImageReview","apiVersion":"imagepolicy.k8s.io/v1alpha1","spec":{"containers":[{"image":"i:1"},{"image":"init:1"}],)"
        R"("annotations":{"x.image-policy.k8s.io/ticket":"7"},"namespace":"a"}})");
    EXPECT_EQ(server_.config.token, "t");
    EXPECT_EQ(create(*plugin, named<Service>("a", "web")), "");
    EXPECT_EQ(server_.requests.size(), 1u) << "only pods";
}

TEST_F(ImagePolicyTest, WhatItDeniesIsForbidden) {
    auto plugin = make();
    answer(R"({"allowed":false,"reason":"old","auditAnnotations":{"who":"policy","not valid":"x"}})");
    EXPECT_EQ(create(*plugin, pod()), "pods \"web\" is forbidden: image policy webhook backend denied one or more images: old");
    EXPECT_EQ(audit_, (std::map<std::string, std::string>{{"imagepolicywebhook.image-policy.k8s.io/who", "policy"}}));
    answer(R"({})");
    EXPECT_EQ(create(*plugin, pod("i:2")), "pods \"web\" is forbidden: one or more images rejected by webhook backend");
}

TEST_F(ImagePolicyTest, EphemeralContainersAreReviewed) {
    auto plugin = make();
    answer(R"({"allowed":false})");
    Pod debugged = pod();
    debugged.spec.ephemeral_containers.emplace_back().image = "debug:1";
    EXPECT_NE(update(*plugin, pod(), debugged, "ephemeralcontainers"), "");
    EXPECT_NE(server_.requests.back().body.find(R"("containers":[{"image":"debug:1"}])"), std::string::npos);
    EXPECT_EQ(update(*plugin, pod(), debugged, "status"), "");
}

TEST_F(ImagePolicyTest, AnswersAreRememberedForTheirTimes) {
    auto plugin = make(R"("allowTTL":60,"denyTTL":10)");
    answer(R"({"allowed":true})");
    EXPECT_EQ(create(*plugin, pod()), "");
    answer(R"({"allowed":false})");
    loop_.advance(59s);
    EXPECT_EQ(create(*plugin, pod()), "");
    loop_.advance(1s);
    EXPECT_NE(create(*plugin, pod()), "");
    answer(R"({"allowed":true})");
    loop_.advance(9s);
    EXPECT_NE(create(*plugin, pod()), "");
    loop_.advance(1s);
    EXPECT_EQ(create(*plugin, pod()), "");
    EXPECT_EQ(server_.requests.size(), 3u);
}

TEST_F(ImagePolicyTest, AServerThatFailsForbidsUnlessToldOtherwise) {
    auto plugin = make(R"("retryBackoff":10)");
    EXPECT_EQ(create(*plugin, pod()), "pods \"web\" is forbidden: connection refused");
    EXPECT_EQ(server_.requests.size(), 5u);
    plugin = make(R"("retryBackoff":10,"defaultAllow":true)");
    EXPECT_EQ(create(*plugin, pod()), "");
    EXPECT_EQ(audit_.at("imagepolicywebhook.image-policy.k8s.io/failed-open"), "true");
    answer(R"({"allowed":false})");
    EXPECT_NE(create(*plugin, pod()), "") << "the failure is not remembered";
}

TEST_F(ImagePolicyTest, ItsConfigurationIsChecked) {
    const auto refusal = [&](const char* more) {
        const auto made = try_make(more);
        return made ? "" : made.error().message;
    };
    EXPECT_EQ(refusal(R"("allowTTL":1)"), "configuration: imagePolicy.allowTTL: valid value is between 1s and 30m0s, got 1");
    EXPECT_EQ(refusal(R"("denyTTL":1801)"), "configuration: imagePolicy.denyTTL: valid value is between 1s and 30m0s, got 1801");
    EXPECT_EQ(refusal(R"("retryBackoff":-2)"), "configuration: imagePolicy.retryBackoff: valid value is between 1ns and 5m0s, got -2");
    EXPECT_EQ(refusal(R"("allowTTL":-1,"denyTTL":0)"), "");
    EXPECT_EQ(refusal(R"("typo":1)"), "configuration: unknown field \"imagePolicy.typo\"");
    EXPECT_EQ(refusal(R"("kubeConfigFile":"/none")").substr(0, 5), "/none");
}

}  // namespace
}  // namespace porthole::apiserver
