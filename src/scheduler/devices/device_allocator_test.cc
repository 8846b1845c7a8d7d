#include "scheduler/devices/device_allocator.h"

#include <gtest/gtest.h>

#include "base/strings.h"
#include "schema/json/json.h"

namespace porthole::scheduler {
namespace {

using namespace api::resource::v1;

template <class T>
std::shared_ptr<const T> object(const std::string& json) {
    auto decoded = schema::decode_json<T>(json);
    if (!decoded) ADD_FAILURE() << decoded.error().message << " in " << json;
    return std::make_shared<const T>(*decoded);
}

/// A slice of the pool "pool" of gpu.example.com that is alone in it.
std::string slice(const std::string& nodes, const std::string& devices, const std::string& pool = R"({"name": "pool", "generation": 1,
                  "resourceSliceCount": 1})") {
    return R"({"metadata": {"name": "s"}, "spec": {"driver": "gpu.example.com", )" + nodes + R"(, "pool": )" + pool + R"(, "devices": [)" +
           devices + "]}}";
}
const std::string OnA = R"("nodeName": "a")";

struct Cluster {
    explicit Cluster(const std::vector<std::string>& slices, const std::set<std::string>& used = {}) {
        for (const std::string& key : used) in_use[key].owners = 1;
        std::vector<std::shared_ptr<const ResourceSlice>> read;
        for (const std::string& one : slices) read.push_back(object<ResourceSlice>(one));
        inventory = DeviceInventory(read);
        classes["gpu"] = object<DeviceClass>(R"({"metadata": {"name": "gpu"}, "spec": {
            "selectors": [{"cel": {"expression": "device.driver == 'gpu.example.com'"}}],
            "config": [{"opaque": {"driver": "gpu.example.com", "parameters": {"from": "class"}}}]}})");
        classes["any"] = object<DeviceClass>(R"({"metadata": {"name": "any"}})");
        classes["broken"] = object<DeviceClass>(R"({"metadata": {"name": "broken"}, "spec": {
            "selectors": [{"cel": {"expression": "device.attributes['gpu.example.com'].gone"}}]}})");
    }
    DeviceWorld world() {
        return {inventory,
                [this](const std::string& key) -> const DeviceUse* {
                    const auto found = in_use.find(key);
                    return found == in_use.end() ? nullptr : &found->second;
                },
                [this](const std::string& name) {
                    const auto found = classes.find(name);
                    return found == classes.end() ? nullptr : found->second;
                },
                selectors, [this] { return "share-" + std::to_string(++shares); }};
    }
    /// What the claims with these `devices` get on the node: "gpu=one,two; gpu=three", or why nothing.
    std::string allocate(const std::vector<std::string>& devices, const std::string& node = "a", DeviceAllocator::Limits limits = {}) {
        DeviceAllocator::Claims claims;
        for (const std::string& one : devices)
            claims.push_back(object<ResourceClaim>(R"({"metadata": {"namespace": "ns", "name": "c"}, "spec": {"devices": )" + one + "}}"));
        DeviceAllocator allocator(world(), claims, limits);
        auto results = allocator.allocate(NodeSpec{.name = node, .labels = {{"zone", node}}});
        if (!results) return results.error().message;
        if (!*results) return "none";
        last = **results;
        return join(last, "; ", [](const AllocationResult& result) {
            return join(result.devices.results, " ",
                        [](const DeviceRequestAllocationResult& one) { return one.request + "=" + one.device; });
        });
    }

    /// Another claim has a share of the device.
    void share(const std::string& key, const char* capacity, const char* amount) {
        in_use[key].change_share({{capacity, Quantity::parse(amount).value()}}, 1);
    }
    /// "one=4Gi two=2Gi": of the last allocation, the first capacity of each share; "-" for a device that is not shared.
    std::string consumed() const {
        return join(last, "; ", [](const AllocationResult& result) {
            return join(result.devices.results, " ", [](const DeviceRequestAllocationResult& one) {
                return one.device + "=" + (one.share_id ? one.consumed_capacity.begin()->second.to_string() : "-");
            });
        });
    }

    std::map<std::string, DeviceUse> in_use;
    int shares = 0;
    DeviceInventory inventory;
    std::map<std::string, std::shared_ptr<const DeviceClass>> classes;
    DeviceSelectors selectors{16};
    DeviceAllocator::Results last;
};

std::string exactly(const std::string& rest = "", const std::string& name = "r") {
    return R"({"name": ")" + name + R"(", "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1)" + rest + "}}";
}
std::string requests(const std::string& list, const std::string& rest = "") { return R"({"requests": [)" + list + "]" + rest + "}"; }

const std::string TwoDevices = R"({"name": "one", "attributes": {"numa": {"int": 0}, "size": {"string": "small"}}},
                                  {"name": "two", "attributes": {"numa": {"int": 1}, "size": {"string": "large"}}})";

TEST(DeviceAllocator, ChoosesWhatRequestsAskFor) {
    struct {
        const char* name;
        std::vector<std::string> claims;
        std::string expected;
    } const rows[] = {
        {"the first that fits", {requests(exactly())}, "r=one"},
        {"several of a request",
         {requests(R"({"name": "r", "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 2}})")},
         "r=one r=two"},
        {"more than there are",
         {requests(R"({"name": "r", "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 3}})")},
         "none"},
        {"more than a claim can hold",
         {requests(R"({"name": "r", "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 33}})")},
         "claim ns/c: number of requested devices 33 exceeds the claim limit of 32"},
        {"a selector",
         {requests(exactly(R"(, "selectors": [{"cel": {"expression": "device.attributes['gpu.example.com'].size == 'large'"}}])"))},
         "r=two"},
        {"all", {requests(R"({"name": "r", "exactly": {"deviceClassName": "gpu", "allocationMode": "All"}})")}, "r=one r=two"},
        {"all of none",
         {requests(R"({"name": "r", "exactly": {"deviceClassName": "gpu", "allocationMode": "All",
             "selectors": [{"cel": {"expression": "false"}}]}})")},
         "none"},
        {"two claims do not share", {requests(exactly()), requests(exactly())}, "r=one; r=two"},
        {"an earlier request gives way",
         {requests(exactly("", "x") + "," +
                   exactly(R"(, "selectors": [{"cel": {"expression":
             "device.attributes['gpu.example.com'].size == 'small'"}}])",
                           "y"))},
         "x=two y=one"},
        {"the first alternative that fits",
         {requests(R"({"name": "r", "firstAvailable": [
             {"name": "many", "deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 3},
             {"name": "few", "deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}]})")},
         "r/few=one"},
        {"the same attribute",
         {requests(exactly("", "x") + "," + exactly("", "y"), R"(, "constraints": [{"matchAttribute": "gpu.example.com/numa"}])")},
         "none"},
        {"a distinct attribute",
         {requests(exactly("", "x") + "," + exactly("", "y"), R"(, "constraints": [{"distinctAttribute": "gpu.example.com/numa"}])")},
         "x=one y=two"},
        {"a constraint on one request",
         {requests(exactly("", "x") + "," + exactly("", "y"),
                   R"(, "constraints": [{"requests": ["x"], "matchAttribute": "gpu.example.com/numa"}])")},
         "x=one y=two"},
        {"an attribute that nothing has",
         {requests(exactly(), R"(, "constraints": [{"matchAttribute": "gpu.example.com/gone"}])")},
         "none"},
        {"all against a constraint",
         {requests(R"({"name": "r", "exactly": {"deviceClassName": "gpu", "allocationMode": "All"}})",
                   R"(, "constraints": [{"matchAttribute": "gpu.example.com/numa"}])")},
         "claim ns/c, request r: cannot add device gpu.example.com/pool/two because a claim constraint would not be satisfied"},
        {"an empty constraint",
         {requests(exactly(), R"(, "constraints": [{}])")},
         "claim ns/c, constraint #0: empty constraint (unsupported constraint type?)"},
        {"no such class",
         {requests(R"({"name": "r", "exactly": {"deviceClassName": "gone", "count": 1}})")},
         "claim ns/c, request r: could not retrieve device class"},
        {"a class whose selector fails",
         {requests(R"({"name": "r", "exactly": {"deviceClassName": "broken", "count": 1}})")},
         "class broken: selector #0: CEL runtime error: no such key: gone"},
        {"a selector that does not compile",
         {requests(exactly(R"(, "selectors": [{"cel": {"expression": "1"}}])"))},
         "claim ns/c: selector #0: CEL compile error: must evaluate to bool or the unknown type, not int"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        EXPECT_EQ(Cluster({slice(OnA, TwoDevices)}).allocate(row.claims), row.expected);
    }
}

TEST(DeviceAllocator, LeavesAloneWhatIsInUseExceptForAdministrators) {
    Cluster cluster({slice(OnA, TwoDevices)}, {"gpu.example.com/pool/one"});
    EXPECT_EQ(cluster.allocate({requests(exactly())}), "r=two");
    EXPECT_EQ(cluster.allocate({requests(R"({"name": "r", "exactly": {"deviceClassName": "gpu", "allocationMode": "All"}})")}), "none");
    const std::string admin = R"({"name": "r", "exactly": {"deviceClassName": "gpu", "allocationMode": "All", "adminAccess": true}})";
    EXPECT_EQ(cluster.allocate({requests(admin)}), "r=one r=two");
    EXPECT_EQ(cluster.last[0].devices.results[0].admin_access, true);
    EXPECT_EQ(cluster.allocate({requests(admin), requests(admin)}), "r=one r=two; r=one r=two");
}

TEST(DeviceAllocator, UsesTheDevicesOfTheNode) {
    const std::string device = R"({"name": "one"})";
    struct {
        const char *name, *nodes;
        std::string on_a, on_b, selector;
    } const rows[] = {
        {"one node", R"("nodeName": "a")", "r=one", "none", R"("matchFields":[{"key":"metadata.name","operator":"In","values":["a"]}])"},
        {"all nodes", R"("allNodes": true)", "r=one", "r=one", ""},
        {"by labels",
         R"("nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]})", "r=one",
         "none", R"("matchExpressions":[{"key":"zone","operator":"In","values":["a"]}])"},
        {"nobody says", R"("perDeviceNodeSelection": false)", "none", "none", ""},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        Cluster cluster({slice(row.nodes, device)});
        EXPECT_EQ(cluster.allocate({requests(exactly())}, "b"), row.on_b);
        EXPECT_EQ(cluster.allocate({requests(exactly())}, "a"), row.on_a);
        if (row.on_a == "none") continue;
        const auto& selector = cluster.last[0].node_selector;
        EXPECT_EQ(selector.has_value(), !row.selector.empty());
        if (selector) {
            EXPECT_EQ(schema::encode_json(*selector), R"({"nodeSelectorTerms":[{)" + row.selector + "}]}");
        }
    }
    Cluster each({slice(R"("perDeviceNodeSelection": true)", R"({"name": "one", "nodeName": "b"}, {"name": "two", "allNodes": true})")});
    EXPECT_EQ(each.allocate({requests(exactly())}, "a"), "r=two");
    EXPECT_EQ(each.allocate({requests(exactly())}, "b"), "r=one");
}

TEST(DeviceAllocator, IgnoresPoolsThatAreBeingUpdated) {
    const auto of = [](int generation, int count) {
        return R"({"name": "pool", "generation": )" + std::to_string(generation) + R"(, "resourceSliceCount": )" + std::to_string(count) +
               "}";
    };
    const std::string all = R"({"name": "r", "exactly": {"deviceClassName": "gpu", "allocationMode": "All"}})";
    Cluster incomplete({slice(OnA, R"({"name": "one"})", of(1, 2))});
    EXPECT_EQ(incomplete.allocate({requests(exactly())}), "none");
    Cluster two({slice(OnA, R"({"name": "one"})", of(1, 2)), slice(OnA, R"({"name": "two"})", of(1, 2))});
    EXPECT_EQ(two.allocate({requests(all)}), "r=one r=two");
    Cluster newer({slice(OnA, R"({"name": "old"})", of(1, 1)), slice(OnA, R"({"name": "new"})", of(2, 1))});
    EXPECT_EQ(newer.allocate({requests(all)}), "r=new");
    Cluster twice({slice(OnA, R"({"name": "one"}, {"name": "one"})")});
    EXPECT_EQ(twice.allocate({requests(exactly())}), "none");
    Cluster one_of_two({slice(OnA, R"({"name": "one"})"),
                        slice(OnA, R"({"name": "x"})", R"({"name": "other", "generation": 1, "resourceSliceCount": 2})")});
    EXPECT_EQ(one_of_two.allocate({requests(exactly())}), "r=one");
    EXPECT_EQ(one_of_two.allocate({requests(all)}), "none") << "nobody knows how many all are";
}

TEST(DeviceAllocator, UsesAnOlderGenerationWhereTheNewerOneSaysNothing) {
    const auto of = [](int generation, int count) {
        return R"({"name": "pool", "generation": )" + std::to_string(generation) + R"(, "resourceSliceCount": )" + std::to_string(count) +
               "}";
    };
    const std::string on_b = R"("nodeName": "b")";
    Cluster moved({slice(OnA, R"({"name": "old"})", of(1, 1)), slice(on_b, R"({"name": "new"})", of(2, 2))});
    EXPECT_EQ(moved.allocate({requests(exactly())}, "a"), "r=old");
    EXPECT_EQ(moved.allocate({requests(exactly())}, "b"), "none") << "incomplete";
    Cluster obsolete({slice(OnA, R"({"name": "old"})", of(1, 2)), slice(on_b, R"({"name": "older"})", of(1, 2)),
                      slice(on_b, R"({"name": "new"})", of(2, 1))});
    EXPECT_EQ(obsolete.allocate({requests(exactly())}, "a"), "none") << "a part of a generation that is being replaced";
    Cluster emptied({slice(OnA, R"({"name": "old"})", of(1, 1)), slice(OnA, "", of(2, 1))});
    EXPECT_EQ(emptied.allocate({requests(exactly())}, "a"), "none") << "all devices are gone";
}

TEST(DeviceAllocator, PrefersDevicesThatNeedNotBeWaitedFor) {
    const std::string slow =
        R"({"name": "slow", "bindsToNode": true, "bindingConditions": ["attached"], "bindingFailureConditions": ["broken"]})";
    Cluster both({slice(R"("allNodes": true)", slow, R"({"name": "a-pool", "generation": 1, "resourceSliceCount": 1})"),
                  slice(R"("allNodes": true)", R"({"name": "ready"})")});
    EXPECT_EQ(both.allocate({requests(exactly())}), "r=ready");
    EXPECT_FALSE(both.last[0].node_selector);
    Cluster one({slice(R"("allNodes": true)", slow)});
    EXPECT_EQ(one.allocate({requests(exactly())}), "r=slow");
    const auto& result = one.last[0].devices.results[0];
    EXPECT_EQ(result.binding_conditions, std::vector<std::string>{"attached"});
    EXPECT_EQ(result.binding_failure_conditions, std::vector<std::string>{"broken"});
    EXPECT_EQ(one.last[0].node_selector->node_selector_terms[0].match_fields[0].values, std::vector<std::string>{"a"});
}

TEST(DeviceAllocator, KeepsTaintedDevicesForThoseWhoTolerateThem) {
    struct {
        const char *taint, *tolerations;
        std::string expected;
    } const rows[] = {
        {R"({"key": "k", "value": "v", "effect": "NoSchedule"})", "", "none"},
        {R"({"key": "k", "value": "v", "effect": "NoExecute"})", "", "none"},
        {R"({"key": "k", "value": "v", "effect": "None"})", "", "r=one"},
        {R"({"key": "k", "value": "v", "effect": "NoSchedule"})", R"({"key": "k", "operator": "Equal", "value": "v"})", "r=one"},
        {R"({"key": "k", "value": "v", "effect": "NoSchedule"})", R"({"key": "k", "operator": "Equal", "value": "w"})", "none"},
        {R"({"key": "k", "value": "v", "effect": "NoSchedule"})", R"({"key": "k", "operator": "Exists", "effect": "NoSchedule"})", "r=one"},
        {R"({"key": "k", "value": "v", "effect": "NoExecute"})", R"({"key": "k", "operator": "Exists", "effect": "NoSchedule"})", "none"},
        {R"({"key": "k", "value": "v", "effect": "NoSchedule"})", R"({"operator": "Exists"})", "r=one"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(std::string(row.taint) + " " + row.tolerations);
        Cluster cluster({slice(OnA, R"({"name": "one", "taints": [)" + std::string(row.taint) + "]}")});
        EXPECT_EQ(cluster.allocate({requests(exactly(R"(, "tolerations": [)" + std::string(row.tolerations) + "]"))}), row.expected);
    }
}

TEST(DeviceAllocator, CountsSharedCountersAndCapacities) {
    const std::string consumes = R"("consumesCounters": [{"counterSet": "memory", "counters": {"bytes": {"value": "4Gi"}}}])";
    const std::string shared = R"({"metadata": {"name": "counters"}, "spec": {"driver": "gpu.example.com", "nodeName": "a",
        "pool": {"name": "pool", "generation": 1, "resourceSliceCount": 2},
        "sharedCounters": [{"name": "memory", "counters": {"bytes": {"value": "8Gi"}}}]}})";
    const std::string parts =
        slice(OnA, R"({"name": "p1", )" + consumes + R"(}, {"name": "p2", )" + consumes + R"(}, {"name": "p3", )" + consumes + "}",
              R"({"name": "pool", "generation": 1, "resourceSliceCount": 2})");
    EXPECT_EQ(Cluster({shared, parts}).allocate({requests(exactly("", "x") + "," + exactly("", "y"))}), "x=p1 y=p2");
    EXPECT_EQ(Cluster({shared, parts}).allocate({requests(exactly("", "x") + "," + exactly("", "y") + "," + exactly("", "z"))}), "none");
    EXPECT_EQ(Cluster({shared, parts}, {"gpu.example.com/pool/p2"}).allocate({requests(exactly("", "x") + "," + exactly("", "y"))}),
              "none");

    Cluster sized({slice(
        OnA,
        R"({"name": "small", "capacity": {"memory": {"value": "1Gi"}}}, {"name": "large", "capacity": {"memory": {"value": "4Gi"}}})")});
    EXPECT_EQ(sized.allocate({requests(exactly(R"(, "capacity": {"requests": {"memory": "2Gi"}})"))}), "r=large");
}

TEST(DeviceAllocator, CollectsConfiguration) {
    Cluster cluster({slice(OnA, TwoDevices)});
    EXPECT_EQ(
        cluster.allocate({requests(
            exactly("", "x") + R"(, {"name": "y", "firstAvailable": [
        {"name": "no", "deviceClassName": "any", "allocationMode": "ExactCount", "count": 9},
        {"name": "yes", "deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}]})",
            R"(, "config": [{"opaque": {"driver": "d", "parameters": {"n": 1}}}, {"requests": ["y/no"], "opaque": {"driver": "d", "parameters": {"n": 2}}},
                        {"requests": ["y/yes"], "opaque": {"driver": "d", "parameters": {"n": 3}}},
                        {"requests": ["y"], "opaque": {"driver": "d", "parameters": {"n": 4}}}])")}),
        "x=one y/yes=two");
    std::string text;
    for (const auto& one : cluster.last[0].devices.config)
        text += one.source + "[" + join(one.requests, ",") + "]" + schema::to_json(one.opaque->parameters) + " ";
    EXPECT_EQ(text, R"(FromClass[x,y/yes]{"from":"class"} FromClaim[]{"n":1} FromClaim[y/yes]{"n":3} FromClaim[y]{"n":4} )");
}

TEST(DeviceAllocator, EndsAtItsLimits) {
    std::string devices;
    for (int i = 0; i < 60; ++i)
        devices +=
            (i ? "," : "") + (R"({"name": "d)" + std::to_string(i) + R"(", "attributes": {"i": {"int": )" + std::to_string(i) + "}}}");
    Cluster cluster({slice(OnA, devices)});
    const std::string wish = R"({"name": "r", "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 20}},
                                {"name": "s", "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1,
                                 "selectors": [{"cel": {"expression": "false"}}]}})";
    EXPECT_EQ(cluster.allocate({requests(wish)}, "a", {.steps = 100'000}), "timed out trying to allocate devices");
    const std::string all = R"({"name": "r", "exactly": {"deviceClassName": "gpu", "allocationMode": "All",
                                "selectors": [{"cel": {"expression": "false"}}]}})";
    EXPECT_EQ(cluster.allocate({requests(all)}, "a", {.steps = 59}), "timed out trying to allocate devices");
    EXPECT_EQ(cluster.allocate({requests(all)}, "a", {.steps = 60}), "none");
    const std::string constrained = requests(exactly(), R"(, "constraints": [{"matchAttribute": "gpu.example.com/gone"}])");
    EXPECT_EQ(cluster.allocate({constrained}, "a", {.steps = 100}), "timed out trying to allocate devices");
    EXPECT_EQ(cluster.allocate(std::vector<std::string>(1025, requests(exactly()))), "a pod cannot have more than 1024 claims to allocate");
    EXPECT_EQ(cluster.allocate({requests(exactly())}, "a", {.selector_cost = 1}),
              "class gpu: selector #0: the selectors of the pod's claims cost too much");
}

std::string shareable(const std::string& name, const std::string& memory, const std::string& policy = "") {
    return R"({"name": ")" + name + R"(", "allowMultipleAllocations": true, "capacity": {"memory": {"value": ")" + memory + '"' +
           (policy.empty() ? "" : R"(, "requestPolicy": )" + policy) + "}}}";
}
std::string asks(const std::string& memory, const std::string& name = "r") {
    return exactly(R"(, "capacity": {"requests": {"memory": ")" + memory + R"("}})", name);
}

TEST(DeviceAllocator, SharesADeviceUntilItsCapacityIsConsumed) {
    Cluster cluster({slice(OnA, shareable("one", "10Gi") + "," + shareable("two", "10Gi"))});
    EXPECT_EQ(cluster.allocate({requests(asks("4Gi", "r") + "," + asks("4Gi", "s")), requests(asks("4Gi"))}), "r=one s=one; r=two");
    EXPECT_EQ(cluster.consumed(), "one=4Gi one=4Gi; two=4Gi");
    EXPECT_EQ(cluster.last[0].devices.results[0].share_id, "share-1");
    EXPECT_EQ(cluster.last[0].devices.results[1].share_id, "share-2");
    cluster.share("gpu.example.com/pool/one", "memory", "8Gi");
    EXPECT_EQ(cluster.allocate({requests(asks("2Gi"))}), "r=one");
    EXPECT_EQ(cluster.allocate({requests(asks("3Gi"))}), "r=two");
    EXPECT_EQ(cluster.allocate({requests(asks("11Gi"))}), "none");
    EXPECT_EQ(cluster.allocate({requests(exactly(R"(, "capacity": {"requests": {"cores": "1"}})"))}), "none") << "it has no such capacity";
}

TEST(DeviceAllocator, GivesOneRequestDifferentDevicesAlsoWhereTheyCanBeShared) {
    Cluster cluster({slice(OnA, shareable("one", "10Gi") + "," + shareable("two", "10Gi"))});
    const std::string two = R"({"name": "r", "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 2,
                                "capacity": {"requests": {"memory": "1Gi"}}}})";
    EXPECT_EQ(cluster.allocate({requests(two)}), "r=one r=two");
}

TEST(DeviceAllocator, GivesTheWholeOfAShareableDeviceToAClaimThatAsksForNoAmount) {
    Cluster cluster({slice(OnA, shareable("one", "10Gi"))});
    EXPECT_EQ(cluster.allocate({requests(exactly())}), "r=one");
    EXPECT_EQ(cluster.consumed(), "one=10Gi");
    cluster.share("gpu.example.com/pool/one", "memory", "1");
    EXPECT_EQ(cluster.allocate({requests(exactly())}), "none");
}

TEST(DeviceAllocator, DoesNotShareWhatOneClaimHasAsAWhole) {
    Cluster cluster({slice(OnA, shareable("one", "10Gi"))}, {"gpu.example.com/pool/one"});
    EXPECT_EQ(cluster.allocate({requests(asks("1Gi"))}), "none");
}

TEST(DeviceAllocator, RoundsAmountsUpAsTheirPolicySays) {
    const std::string steps = R"({"default": "2Gi", "validRange": {"min": "2Gi", "step": "2Gi", "max": "8Gi"}})";
    const std::string values = R"({"default": "1Gi", "validValues": ["1Gi", "4Gi", "10Gi"]})";
    struct {
        std::string policy, asked, consumed;
    } const cases[] = {{steps, asks("1Gi"), "one=2Gi"},  {steps, asks("3Gi"), "one=4Gi"},    {steps, asks("8Gi"), "one=8Gi"},
                       {steps, asks("9Gi"), "none"},     {steps, exactly(), "one=2Gi"},      {values, asks("2Gi"), "one=4Gi"},
                       {values, asks("1Gi"), "one=1Gi"}, {values, asks("10Gi"), "one=10Gi"}, {values, exactly(), "one=1Gi"}};
    for (const auto& one : cases) {
        Cluster cluster({slice(OnA, shareable("one", "10Gi", one.policy))});
        const std::string answer = cluster.allocate({requests(one.asked)});
        EXPECT_EQ(answer == "none" ? answer : cluster.consumed(), one.consumed) << one.policy << " " << one.asked;
    }
}

TEST(DeviceAllocator, ConsumesTheCountersOfASharedDeviceOnce) {
    const std::string counters =
        R"({"metadata": {"name": "c"}, "spec": {"driver": "gpu.example.com", "nodeName": "a", "pool": {"name": "pool",
        "generation": 1, "resourceSliceCount": 2}, "sharedCounters": [{"name": "card", "counters": {"slots": {"value": "1"}}}]}})";
    const auto device = [](const std::string& name) {
        return R"({"name": ")" + name + R"(", "allowMultipleAllocations": true, "capacity": {"memory": {"value": "10Gi"}},
                   "consumesCounters": [{"counterSet": "card", "counters": {"slots": {"value": "1"}}}]})";
    };
    const std::string pool = R"({"name": "pool", "generation": 1, "resourceSliceCount": 2})";
    Cluster cluster({counters, slice(OnA, device("one") + "," + device("two"), pool)});
    EXPECT_EQ(cluster.allocate({requests(asks("4Gi", "r") + "," + asks("4Gi", "s"))}), "r=one s=one");
    EXPECT_EQ(cluster.allocate({requests(asks("6Gi", "r") + "," + asks("6Gi", "s"))}), "none") << "two would need a second slot";
    cluster.share("gpu.example.com/pool/one", "memory", "1Gi");
    EXPECT_EQ(cluster.allocate({requests(asks("4Gi"))}), "r=one");
    EXPECT_EQ(cluster.allocate({requests(asks("10Gi"))}), "none");
}

}  // namespace
}  // namespace porthole::scheduler
