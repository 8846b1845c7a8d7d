// Objects that are not in use are packed, and nobody can tell by reading them.
#include "client/informers/shared_objects.h"

#include <atomic>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "api/apps_v1.h"
#include "api/core_v1.h"
#include "client/informers/shared_object_table.h"
#include "schema/compare.h"
#include "schema/json/json.h"
#include "schema/random_object.h"

namespace porthole::client {
namespace {

using api::core::v1::Pod;

template <class T>
Result<InformerCodec::Decoded> decode(std::string_view json) {
    TRY(T value, schema::decode_json<T>(json));
    NamespacedName key = key_of(value);
    std::string version = value.metadata.resource_version;
    return InformerCodec::Decoded{std::make_shared<const T>(std::move(value)), std::move(key), std::move(version)};
}

const InformerCodec Pods{Pod::kind(), false, decode<Pod>, &Pod::schema_type()};
const InformerCodec Nodes{api::core::v1::Node::kind(), false, decode<api::core::v1::Node>, &api::core::v1::Node::schema_type()};

std::string named(int number) { return "web-5d8f-" + std::to_string(number); }

template <class T = Pod>
std::string json_of(int number, int version = 1) {
    T object;
    object.metadata.namespace_ = "ns";
    object.metadata.name = named(number);
    object.metadata.uid = "uid-" + std::to_string(number);
    object.metadata.resource_version = std::to_string(version);
    for (int i = 0; i < 20; ++i) object.metadata.annotations["annotation-" + std::to_string(i)] = "the same in all of them";
    return schema::encode_json(object);
}

std::shared_ptr<const Pod> pod_of(const KeptObject& kept) { return std::static_pointer_cast<const Pod>(kept.get()); }

/// The pods 0 to `count` - 1, in this order.
std::vector<KeptObject> add_pods(SharedObjects& shared, int count) {
    std::vector<KeptObject> pods;
    for (int i = 0; i < count; ++i) pods.push_back(shared.decode(Pods, json_of(i))->object);
    return pods;
}

template <class T>
struct PackedKind : testing::Test {};
using Kinds = testing::Types<Pod, api::core::v1::Node, api::core::v1::Service, api::core::v1::ConfigMap, api::core::v1::PersistentVolume,
                             api::apps::v1::Deployment, api::apps::v1::StatefulSet>;
TYPED_TEST_SUITE(PackedKind, Kinds);

TYPED_TEST(PackedKind, ObjectsAreEqualAfterTheyWerePacked) {
    const auto table = std::make_shared<SharedObjectTable>(0);
    std::vector<schema::Instance> originals;
    std::vector<std::shared_ptr<SharedObject>> objects;
    for (std::uint32_t seed = 0; seed < 60; ++seed) {
        originals.push_back(schema::RandomObject(seed).make(TypeParam::schema_type()));
        auto copy = std::make_shared<const TypeParam>(*static_cast<const TypeParam*>(originals.back().get()));
        objects.push_back(table->keep(std::make_shared<SharedObject>(table, std::to_string(seed), decode<TypeParam>,
                                                                     &TypeParam::schema_type(), 1000, std::move(copy))));
        table->pack_unused();
    }
    EXPECT_EQ(table->decoded_json(), 0u);
    for (std::size_t i = 0; i < objects.size(); ++i)
        EXPECT_TRUE(schema::equal(TypeParam::schema_type(), originals[i].get(), objects[i]->get().get())) << i;
    EXPECT_EQ(table->times_unpacked(), objects.size());
}

TEST(SharedObjects, AFewPodsStayDecoded) {
    SharedObjects shared;
    const auto pods = add_pods(shared, 50);
    for (const KeptObject& pod : pods) EXPECT_EQ(pod.get(), pod.get());
    EXPECT_EQ(shared.times_unpacked(), 0u);
}

TEST(SharedObjects, ThoseUsedLastStayDecodedWithinTheLimit) {
    const std::size_t limit = json_of(0).size() * 10 + 50;
    SharedObjects shared(limit);
    const auto pods = add_pods(shared, 40);
    EXPECT_LE(shared.decoded_json(), limit);
    for (int i = 30; i < 40; ++i) EXPECT_EQ(pod_of(pods[i])->metadata.name, named(i));
    EXPECT_EQ(shared.times_unpacked(), 0u);

    EXPECT_EQ(pod_of(pods[3])->metadata.name, named(3));
    EXPECT_EQ(pod_of(pods[3])->metadata.name, named(3));
    EXPECT_EQ(shared.times_unpacked(), 1u) << "it is decoded while it is used";
    EXPECT_LE(shared.decoded_json(), limit);
    (void)pods[30].get();
    EXPECT_EQ(shared.times_unpacked(), 2u) << "it was used least recently when the other one was read";
    for (int i = 0; i < 40; ++i) EXPECT_EQ(pod_of(pods[i])->metadata.uid, "uid-" + std::to_string(i));
    EXPECT_LE(shared.decoded_json(), limit);
}

TEST(SharedObjects, APodThatIsHeldIsNotDecodedTwice) {
    SharedObjects shared(0);
    const KeptObject kept = shared.decode(Pods, json_of(0))->object;
    auto held = kept.get();
    const auto before = shared.times_unpacked();
    const auto others = add_pods(shared, 100);
    EXPECT_EQ(kept.get(), held);
    EXPECT_EQ(shared.decode(Pods, json_of(0))->object.get(), held);
    EXPECT_EQ(shared.times_unpacked(), before);
    EXPECT_GT(shared.decoded_json(), 0u);
    held.reset();
    (void)shared.decode(Pods, json_of(200));
    EXPECT_EQ(shared.decoded_json(), 0u) << "and is packed once it was let go";
    EXPECT_EQ(pod_of(kept)->metadata.name, named(0));
    EXPECT_EQ(shared.times_unpacked(), before + 1);
}

TEST(SharedObjects, WhatWouldChangeByPackingIsNotPacked) {
    const auto table = std::make_shared<SharedObjectTable>(0);
    auto pod = std::make_shared<Pod>();
    pod->metadata.annotations["text"] = "\xff";  // JSON has no such character
    const void* const address = pod.get();
    const auto object = table->keep(std::make_shared<SharedObject>(table, "a", decode<Pod>, &Pod::schema_type(), 1000, std::move(pod)));
    table->pack_unused();
    EXPECT_EQ(object->get().get(), address);
    EXPECT_EQ(table->times_unpacked(), 0u);
    EXPECT_EQ(table->decoded_json(), 0u) << "and does not count, since nothing can be done about it";
}

TEST(SharedObjects, ObjectsOfOtherKindsStayDecoded) {
    SharedObjects shared(0);
    std::vector<KeptObject> nodes;
    for (int i = 0; i < 10; ++i) nodes.push_back(shared.decode(Nodes, json_of<api::core::v1::Node>(i))->object);
    for (const KeptObject& node : nodes) EXPECT_EQ(node.get(), node.get());
    EXPECT_EQ(shared.times_unpacked(), 0u);
}

TEST(SharedObjects, ForgetsWhatNobodyHolds) {
    auto shared = std::make_unique<SharedObjects>(0);
    auto pods = add_pods(*shared, 20);
    EXPECT_EQ(shared->size(), 20u);
    pods.resize(5);
    EXPECT_EQ(shared->size(), 5u);
    shared.reset();
    EXPECT_EQ(pod_of(pods[4])->metadata.name, named(4)) << "what is held outlives the owner";
}

TEST(SharedObjects, ServesSeveralThreads) {
    constexpr int Count = 40, Rounds = 300, Threads = 4;
    SharedObjects shared(json_of(0).size() * 5);
    const auto common = add_pods(shared, Count);
    std::vector<std::thread> threads;
    std::atomic<int> wrong = 0;
    for (int number = 0; number < Threads; ++number)
        threads.emplace_back([&, number] {
            std::mt19937 random(static_cast<std::uint32_t>(number));
            std::vector<KeptObject> own(Count);
            for (int round = 0; round < Rounds; ++round) {
                const int i = static_cast<int>(random() % Count), version = 1 + round / 50;
                const auto read = shared.decode(Pods, json_of(i, version));
                own[i] = read->object;
                const auto held = pod_of(own[i]);
                const auto other = pod_of(common[random() % Count]);
                wrong += held->metadata.name != named(i) || held->metadata.resource_version != std::to_string(version);
                wrong += pod_of(own[i]) != held || other->metadata.annotations.size() != 20;
            }
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_GT(shared.times_unpacked(), 0u);
    EXPECT_EQ(shared.size(), static_cast<std::size_t>(Count)) << "those of the threads are gone";
}

}  // namespace
}  // namespace porthole::client
