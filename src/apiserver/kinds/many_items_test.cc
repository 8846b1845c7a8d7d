#include "apiserver/kinds/rules_fixture.h"

namespace porthole::apiserver {
namespace {

/// "[first0last,first1last,…]"
std::string list(int count, const std::string& first, const std::string& last) {
    std::string text = "[";
    for (int i = 0; i < count; ++i) text += (i == 0 ? "" : ",") + first + std::to_string(i) + last;
    return text + "]";
}

/// As many as an object of 1.5 MB has: what compares each with each takes minutes.
struct ManyItems : testing::Test {
    static constexpr int Many = 30'000;
    RulesOf pods{"", "v1", "Pod", "spec: {containers: [{name: c, image: i}]}"};
};

TEST_F(ManyItems, TolerationsOfAPodThatIsUpdatedTakeLinearTime) {
    const std::string before = R"({"spec":{"tolerations":)" + list(Many, R"({"operator":"Exists","key":"k)", "\"}") + "}}";
    const std::string more = R"({"spec":{"tolerations":)" + list(Many + 1, R"({"operator":"Exists","key":"k)", "\"}") + "}}";
    EXPECT_EQ(pods.update(before.c_str(), more.c_str()), "");
    EXPECT_EQ(pods.update(more.c_str(), before.c_str()),
              "spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds");
}

TEST_F(ManyItems, GatesOfAPodThatIsUpdatedTakeLinearTime) {
    const std::string gates = R"({"spec":{"schedulingGates":)" + list(Many, R"({"name":"g)", "\"}") + "}}";
    EXPECT_EQ(pods.update(gates.c_str(), R"({"metadata":{"labels":{"a":"b"}}})"), "");
}

TEST_F(ManyItems, VolumesAndMountsOfAPodTakeLinearTime) {
    const std::string last = std::to_string(Many - 1);
    const std::string pod = R"({"spec":{"volumes":)" + list(Many, R"({"emptyDir":{},"name":"v)", "\"}") +
                            R"(,"containers":[{"name":"c","image":"i","volumeMounts":)" +
                            list(Many, R"({"mountPath":"/m)", R"(","name":"v)" + last + "\"}") + "}]}}";
    EXPECT_EQ(pods.create(pod.c_str()), "");
}

TEST_F(ManyItems, KeysOfAffinityTakeLinearTime) {
    const std::string term = R"({"topologyKey":"zone","labelSelector":{},"matchLabelKeys":)" + list(Many, "\"a", "\"") +
                             R"(,"mismatchLabelKeys":)" + list(Many, "\"b", "\"") + "}";
    const std::string pod = R"({"spec":{"affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[)" + term + "]}}}}";
    EXPECT_EQ(pods.create(pod.c_str()), "");
}

TEST_F(ManyItems, FinalizersOfAnObjectThatIsBeingDeletedTakeLinearTime) {
    ObjectMeta old;
    old.name = "a";
    old.deletion_timestamp = Timestamp::from_seconds(1);
    for (int i = 0; i < Many; ++i) old.finalizers.push_back("example.com/" + std::to_string(i));
    ObjectMeta now = old;
    now.finalizers.emplace_back("example.com/new");
    FieldErrors errors;
    validate_metadata_update(now, old, *api::registry().find_kind("", "v1", "Pod"), errors);
    EXPECT_NE(errors.text().find("found new finalizers []string{\"example.com/new\"}"), std::string::npos) << errors.text();
}

}  // namespace
}  // namespace porthole::apiserver
