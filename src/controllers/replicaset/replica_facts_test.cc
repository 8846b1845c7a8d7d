#include "controllers/replicaset/replica_facts.h"

#include <gtest/gtest.h>

#include "runtime/event_loop.h"

namespace porthole::controllers {
namespace {

using api::core::v1::Pod;

Pod owned(const std::string& uid, const std::string& kind = "ReplicaSet") {
    Pod pod;
    pod.metadata.namespace_ = "ns";
    pod.metadata.labels = {{"app", "web"}, {"empty", ""}};
    auto& owner = pod.metadata.owner_references.emplace_back();
    owner.kind = kind;
    owner.uid = uid;
    owner.controller = true;
    return pod;
}

ReplicaFacts read_back(const Pod& pod, const std::string& uid) {
    api::meta::v1::ObjectMeta owner;
    owner.namespace_ = "ns";
    owner.uid = uid;
    const std::string prefix = replica_key_prefix(owner);
    const auto keys = replica_keys(pod);
    EXPECT_EQ(keys.size(), 1u);
    EXPECT_TRUE(keys.at(0).starts_with(prefix));
    return parse_replica_facts(std::string_view(keys.at(0)).substr(prefix.size())).value();
}

TEST(ReplicaFacts, AKeyHoldsAllThatAStatusNeeds) {
    Pod pod = owned("u1");
    EXPECT_EQ(read_back(pod, "u1"), ReplicaFacts::of(pod));
    auto& ready = pod.status.conditions.emplace_back();
    ready.type = "Ready";
    ready.status = "True";
    ready.last_transition_time = Timestamp(SystemTime(std::chrono::seconds(1'700'000'000)));
    const ReplicaFacts facts = read_back(pod, "u1");
    EXPECT_EQ(facts.life, ReplicaFacts::Life::Active);
    EXPECT_TRUE(facts.ready);
    EXPECT_EQ(facts.ready_since, 1'700'000'000);
    EXPECT_EQ(facts.labels, pod.metadata.labels);
    pod.metadata.deletion_timestamp = Timestamp(SystemTime(std::chrono::seconds(1)));
    EXPECT_EQ(read_back(pod, "u1").life, ReplicaFacts::Life::Terminating);
    pod.status.phase = "Failed";
    EXPECT_EQ(read_back(pod, "u1").life, ReplicaFacts::Life::Over);
    pod.metadata.labels.clear();
    EXPECT_EQ(read_back(pod, "u1"), ReplicaFacts::of(pod));
}

TEST(ReplicaFacts, PodsOfOthersHaveNoKey) {
    EXPECT_TRUE(replica_keys(Pod()).empty());
    EXPECT_TRUE(replica_keys(owned("u1", "Job")).empty());
    EXPECT_EQ(replica_keys(owned("u1", "ReplicationController")).size(), 1u);
}

TEST(ReplicaFacts, AReferenceCannotLookLikeThePodsOfAnotherOwner) {
    EXPECT_TRUE(replica_keys(owned(std::string("u1\0au0", 6))).empty());
    api::meta::v1::ObjectMeta owner;
    owner.namespace_ = "ns";
    owner.uid = "u1";
    EXPECT_FALSE(replica_keys(owned("u1x")).at(0).starts_with(replica_key_prefix(owner)));
}

TEST(ReplicaFacts, OtherTextsAreNone) {
    for (const char* text : {"", "a", "ar", "arx", "ar1\2label"}) EXPECT_FALSE(parse_replica_facts(text)) << text;
}

}  // namespace
}  // namespace porthole::controllers
