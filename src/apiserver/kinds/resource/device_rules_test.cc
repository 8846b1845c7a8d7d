// Device classes, claims, templates and slices.
#include "apiserver/kinds/rules_fixture.h"

namespace porthole::apiserver {
namespace {

TEST(DeviceClassRules, SelectorsAreCheckedAsUpstreamCompilesThem) {
    RulesOf rules("resource.k8s.io", "v1", "DeviceClass", "spec: {}");
    const auto create = [&](const std::string& expression) {
        return rules.create(("spec: {selectors: [{cel: {expression: '" + expression + "'}}]}").c_str());
    };
    for (const char* good :
         {R"(device.driver == "dra.example.com")", R"(device.attributes["dra.example.com"].name)",
          R"(cel.bind(dra, device.attributes["dra.example.com"], dra.a && dra.b))", R"("dra.example.com" in device.attributes)",
          R"(device.attributes["dra.example.com"].version.isGreaterThan(semver("0.0.1")))",
          R"(device.attributes["dra.example.com"].services.matches("[^a]?sym"))", "device.allowMultipleAllocations",
          R"(device.capacity["dra.example.com"].memory.compareTo(quantity("1Gi")) >= 0)"})
        EXPECT_EQ(create(good), "") << good;
    const std::string where = "spec.selectors[0].cel.expression: ";
    EXPECT_EQ(create("1"), where + "Invalid value: \"1\": must evaluate to bool or the unknown type, not int");
    EXPECT_TRUE(create("?!").starts_with(where + "Invalid value: \"?!\": compilation failed: ERROR: <input>:1:1: Syntax error"));
    EXPECT_TRUE(create("device.colour").contains("undefined field"));
    EXPECT_EQ(create(R"(device.attributes.all(a, device.attributes.all(b, device.attributes.all(c, device.attributes.all(d, true)))))"),
              where + "Forbidden: too complex, exceeds cost limit");
    EXPECT_EQ(rules.create("spec: {selectors: [{}]}"), "spec.selectors[0].cel: Required value");
    EXPECT_EQ(rules.create("spec: {config: [{opaque: {driver: d.example.com, parameters: [1]}}, {}]}"),
              "[spec.config[0].opaque.parameters: Invalid value: \"<value omitted>\": must be a valid JSON object, "
              "spec.config[1].opaque: Required value]");
}

TEST(ResourceClaimRules, RefuseInKubernetesWords) {
    RulesOf rules("resource.k8s.io", "v1", "ResourceClaim",
                  "spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.example.com}}]}}");
    EXPECT_EQ(rules.created().at_path({"spec", "devices", "requests"})->as_array()[0].at_path({"exactly", "count"})->as_int(), 1);
    expect_answers(
        rules,
        {
            {"as it is", "{}", ""},
            {"no kind of request", "spec: {devices: {requests: [{name: gpu}]}}",
             "spec.devices.requests[0]: Required value: exactly one of `exactly` or `firstAvailable` is required"},
            {"a count of all", "spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: c, allocationMode: All, count: 2}}]}}",
             "spec.devices.requests[0].exactly.count: Invalid value: 2: must not be specified when allocationMode is 'All'"},
            {"no class", "spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: ''}}]}}",
             "spec.devices.requests[0].exactly.deviceClassName: Required value"},
            {"alternatives",
             "spec: {devices: {requests: [{name: gpu, firstAvailable: [{name: large, deviceClassName: c}]}], "
             "constraints: [{requests: [gpu/large], matchAttribute: example.com/numa}]}}",
             ""},
            {"an unknown request", "spec: {devices: {config: [{requests: [tpu], opaque: {driver: d, parameters: {}}}]}}",
             "spec.devices.config[0].requests[0]: Invalid value: \"tpu\": must be the name of a request in the claim or the name of a "
             "request and a subrequest separated by '/'"},
            {"twice", "spec: {devices: {requests: [{name: a, exactly: {deviceClassName: c}}, {name: a, exactly: {deviceClassName: c}}]}}",
             "spec.devices.requests[1].name: Duplicate value: \"a\""},
            {"an unknown mode", "spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: c, allocationMode: Some}}]}}",
             "spec.devices.requests[0].exactly.allocationMode: Unsupported value: \"Some\": supported values: \"All\", \"ExactCount\""},
            {"tolerations",
             "spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: c, tolerations: [{key: k, operator: Like}, {key: k, "
             "value: v}, "
             "{operator: Exists, effect: Now}]}}]}}",
             "[spec.devices.requests[0].exactly.tolerations[0].operator: Unsupported value: \"Like\": supported values: \"Equal\", "
             "\"Exists\", spec.devices.requests[0].exactly.tolerations[2].effect: Unsupported value: \"Now\": supported values: "
             "\"NoExecute\", \"NoSchedule\"]"},
            {"distinct attributes", "spec: {devices: {constraints: [{distinctAttribute: d.example.com/numa}]}}", ""},
            {"an empty constraint", "spec: {devices: {constraints: [{}]}}",
             "spec.devices.constraints[0]: Required value: exactly one of \"matchAttribute\" or \"distinctAttribute\" is required"},
            {"a name of too many parts", "spec: {devices: {constraints: [{matchAttribute: a/b/c}]}}",
             "spec.devices.constraints[0].matchAttribute: Invalid value: \"b/c\": a valid C identifier must start with alphabetic "
             "character or "
             "'_', followed by a string of alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for "
             "validation is '[A-Za-z_][A-Za-z0-9_]*')"},
        });
    EXPECT_TRUE(rules.update("spec: {devices: {requests: null}}").ends_with("field is immutable"));
    const char* reserved = "status: {reservedFor: [{resource: pods, name: p, uid: u}]}";
    EXPECT_EQ(rules.update_status("{}", reserved), "status.reservedFor: Forbidden: may not be specified when `allocated` is not set");
    const char* allocated = "status: {allocation: {devices: {results: [{request: gpu, driver: d, pool: p, device: one}]}}}";
    EXPECT_EQ(rules.update_status("{}", allocated), "");
    EXPECT_EQ(rules.update_status(allocated, reserved), "");
    EXPECT_TRUE(rules.update_status(allocated, "status: {allocation: {devices: {results: null}}}").ends_with("field is immutable"));
}

TEST(ResourceClaimRules, BoundWhatDriversSayOfDevices) {
    RulesOf rules("resource.k8s.io", "v1", "ResourceClaim",
                  "spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.example.com}}]}}");
    const std::string allocated = "allocation: {devices: {results: [{request: gpu, driver: d, pool: p, device: one}]";
    const auto status = [&](const std::string& rest) { return rules.update_status("{}", ("status: {" + allocated + rest).c_str()); };
    EXPECT_EQ(status("}}, devices: [{driver: d, pool: p, device: one, data: {a: 1}}]}"), "");
    EXPECT_EQ(status("}}, devices: [{driver: d, pool: p, device: two}]}"),
              "status.devices[0]: Invalid value: must be an allocated device in the claim");
    EXPECT_EQ(
        status(", config: [{source: Elsewhere, opaque: {driver: d, parameters: {}}}]}}}"),
        "status.allocation.devices.config[0].source: Unsupported value: \"Elsewhere\": supported values: \"FromClaim\", \"FromClass\"");
}

TEST(ResourceClaimRules, ForgetWhatWasSaidOfDevicesThatWereTakenAway) {
    RulesOf rules("resource.k8s.io", "v1", "ResourceClaim",
                  "spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.example.com}}]}}");
    const char* used =
        "status: {allocation: {devices: {results: [{request: gpu, driver: d, pool: p, device: one}]}}, "
        "devices: [{driver: d, pool: p, device: one}]}";
    EXPECT_EQ(rules.update_status(used, "status: {allocation: null}"), "");
    EXPECT_EQ(rules.update_status(used, "status: {allocation: null, devices: [{driver: d, pool: p, device: two}]}"),
              "status.devices[0]: Invalid value: must be an allocated device in the claim");
}

TEST(ResourceSliceRules, TaintsKeepTheTimeAtWhichTheyWereAdded) {
    RulesOf rules("resource.k8s.io", "v1", "ResourceSlice",
                  "spec: {driver: d.example.com, nodeName: one, pool: {name: p, generation: 1, resourceSliceCount: 1}, devices: []}");
    const auto time_of = [](const schema::Value& slice, std::size_t taint) {
        const auto& device = slice.at_path({"spec", "devices"})->as_array()[0];
        return std::string(device.find("taints")->as_array()[taint].string_at({"timeAdded"}));
    };
    const auto made = rules.created("spec: {devices: [{name: one, taints: [{key: a, effect: NoExecute}]}]}");
    EXPECT_NE(time_of(made, 0), "");
    EXPECT_EQ(rules.update("spec: {devices: [{name: one, taints: [{key: a, effect: NoExecute, timeAdded: '2020-01-01T00:00:00Z'}]}]}",
                           "spec: {devices: [{name: one, taints: [{key: b, effect: NoExecute}, {key: a, effect: NoExecute}]}]}"),
              "");
    EXPECT_EQ(time_of(rules.updated(), 0), time_of(made, 0));
    EXPECT_EQ(time_of(rules.updated(), 1), "2020-01-01T00:00:00Z");
}

TEST(ResourceSliceRules, CheckWhichAmountsOfACapacityMayBeRequested) {
    RulesOf rules("resource.k8s.io", "v1", "ResourceSlice",
                  "spec: {driver: d.example.com, nodeName: one, pool: {name: p, generation: 1, resourceSliceCount: 1}, devices: []}");
    const auto answer = [&](const std::string& policy, const char* shared = "allowMultipleAllocations: true, ") {
        const std::string at = "spec.devices[0].capacity[memory].requestPolicy";
        const std::string change =
            "spec: {devices: [{name: one, " + std::string(shared) + "capacity: {memory: {value: 10Gi, requestPolicy: {" + policy + "}}}}]}";
        std::string said = rules.update(change.c_str());
        for (std::size_t found; (found = said.find(at)) != std::string::npos;) said.erase(found, at.size());
        return said;
    };
    EXPECT_EQ(answer("default: 2Gi, validRange: {min: 2Gi, max: 8Gi, step: 2Gi}"), "");
    EXPECT_EQ(answer("default: 1Gi, validValues: [1Gi, 4Gi]"), "");
    EXPECT_EQ(answer("default: 1Gi"), "");
    EXPECT_EQ(answer("default: 1Gi", ""), ": Forbidden: allowMultipleAllocations must be true");
    EXPECT_EQ(answer("default: 1Gi, validValues: [1Gi], validRange: {min: 1Gi}"),
              ": Forbidden: exactly one policy can be specified, cannot specify \"validValues\" and \"validRange\" at the same time");
    EXPECT_EQ(answer("validValues: [1Gi]"), ".default: Required value: required when validValues is defined");
    EXPECT_EQ(answer("validRange: {min: 1Gi}"), ".default: Required value: required when validRange is defined");
    EXPECT_EQ(answer("default: 2Gi, validValues: [4Gi, 1Gi, 1Gi, 20Gi]"),
              "[.validValues[1]: Invalid value: \"1Gi\": values must be sorted in ascending order, .validValues[2]: Duplicate value: "
              "\"1Gi\", .validValues[3]: Invalid value: \"20Gi\": option is larger than capacity value: 10Gi, .validValues: Invalid "
              "value: \"2Gi\": default value is not valid according to the requestPolicy]");
    EXPECT_EQ(answer("default: 1Gi, validRange: {max: 1Gi}"), ".validRange.min: Required value: required when validRange is defined");
    EXPECT_EQ(answer("default: 1Gi, validRange: {min: 2Gi, max: 20Gi}"),
              "[.validRange.min: Invalid value: \"1Gi\": default is less than min: 2Gi, .validRange.max: Invalid value: \"20Gi\": max is "
              "larger than capacity value: 10Gi]");
    EXPECT_EQ(answer("default: 3Gi, validRange: {min: 2Gi, step: 2Gi}"),
              ".validRange.step: Invalid value: \"3Gi\": value is not a multiple of a given step (2Gi) from (2Gi)");
    EXPECT_EQ(answer("default: 2Gi, validRange: {min: 2Gi, step: 0}"), ".validRange.step: Invalid value: \"0\": must be greater than zero");
}

TEST(ResourceSliceRules, BoundWhatNodesPublish) {
    RulesOf rules("resource.k8s.io", "v1", "ResourceSlice",
                  "spec: {driver: d.example.com, nodeName: one, pool: {name: p, generation: 1, resourceSliceCount: 1}, devices: []}");
    std::string many;
    for (int i = 0; i < 129; ++i) many += "{name: d" + std::to_string(i) + "},";
    const std::string too_many = "spec: {devices: [" + many + "]}";
    expect_answers(
        rules,
        {
            {"as it is", "{}", ""},
            {"a device",
             "spec: {devices: [{name: one, attributes: {model: {string: a}, other.example.com/numa: {int: 1}}, capacity: {memory: "
             "{value: 1Gi}}, taints: [{key: k, effect: NoSchedule}]}]}",
             ""},
            {"two of one name", "spec: {devices: [{name: one}, {name: one}]}", "spec.devices[1].name: Duplicate value: \"one\""},
            {"an attribute without a value", "spec: {devices: [{name: one, attributes: {a: {}}}]}",
             "spec.devices[0].attributes[a]: Required value: exactly one value must be specified"},
            {"an unknown effect", "spec: {devices: [{name: one, taints: [{key: k, effect: Now}]}]}",
             "spec.devices[0].taints[0].effect: Unsupported value: \"Now\": supported values: \"NoExecute\", \"NoSchedule\", \"None\""},
            {"no slice in the pool", "spec: {pool: {resourceSliceCount: 0}}",
             "spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero"},
            {"too many", too_many.c_str(), "spec.devices: Too many: 129: must have at most 128 items"},
            {"a version that is none", "spec: {devices: [{name: one, attributes: {a: {version: '1'}}}]}",
             "spec.devices[0].attributes[a].version: Invalid value: \"1\": must be a string compatible with semver.org spec 2.0.0"},
            {"a pool that is no domain", "spec: {pool: {name: a/B}}",
             "spec.pool.name: Invalid value: \"B\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, "
             "'-' or "
             "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
             "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"},
            {"two choices of nodes", "spec: {allNodes: true}",
             "spec: Invalid value: \"{`nodeName`, `allNodes`}\": exactly one of `nodeName`, `nodeSelector`, `allNodes`, "
             "`perDeviceNodeSelection` is required, but multiple fields are set"},
            {"a choice that is none", "spec: {allNodes: false}",
             "spec.allNodes: Invalid value: false: must be either unset or set to true"},
            {"a device's nodes in a slice of one node", "spec: {devices: [{name: one, allNodes: true}]}",
             "spec.devices[0]: Invalid value: null: `nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` "
             "is "
             "set to true in the ResourceSlice spec"},
            {"a selector that is none", "spec: {nodeName: null, nodeSelector: {nodeSelectorTerms: []}}",
             "[spec.nodeSelector.nodeSelectorTerms: Required value: must have at least one node selector term, "
             "spec.nodeSelector.nodeSelectorTerms: Invalid value: must have exactly one node selector term]"},
            {"counters and devices", "spec: {devices: [{name: one}], sharedCounters: [{name: c, counters: {m: {value: 1}}}]}",
             "spec: Invalid value: \"\": only one of `sharedCounters` or `devices` is allowed"},
            {"sets of one name", "spec: {sharedCounters: [{name: c, counters: {m: {value: 1}}}, {name: c, counters: {m: {value: 1}}}]}",
             "spec.sharedCounters[1]: Duplicate value: \"c\""},
            {"a set of nothing", "spec: {devices: [{name: one, consumesCounters: [{counterSet: c}]}]}",
             "spec.devices[0].consumesCounters[0].counters: Required value"},
            {"conditions without failures", "spec: {devices: [{name: one, bindingConditions: [ready]}]}",
             "spec.devices[0].bindingFailureConditions: Invalid value: []: bindingFailureConditions are required to use bindingConditions"},
            {"conditions that overlap", "spec: {devices: [{name: one, bindingConditions: [a], bindingFailureConditions: [a]}]}",
             "spec.devices[0].bindingFailureConditions[0]: Invalid value: \"a\": bindingFailureConditions must not overlap with "
             "bindingConditions"},
        });
    EXPECT_EQ(rules.update("spec: {driver: e.example.com}"), "spec.driver: Invalid value: field is immutable");
}

TEST(DeviceClassRules, StandForResourcesOfOthers) {
    RulesOf rules("resource.k8s.io", "v1", "DeviceClass", "spec: {extendedResourceName: example.com/gpu}");
    EXPECT_EQ(rules.create("{}"), "");
    for (const std::string name : {"gpu", "kubernetes.io/gpu", "deviceclass.resource.kubernetes.io/gpu"})
        EXPECT_EQ(rules.create(("spec: {extendedResourceName: " + name + "}").c_str()),
                  "spec.extendedResourceName: Invalid value: \"" + name + "\": must be a valid extended resource name");
}

/// Whoever may make a claim may write thousands of selectors; compiling them ends.
TEST(ResourceClaimRules, BoundWhatSelectorsTakeToCompile) {
    RulesOf rules("resource.k8s.io", "v1", "ResourceClaim",
                  "spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.example.com}}]}}");
    const auto create = [&](const std::string& expression) {
        std::string selectors;
        for (int i = 0; i < 32; ++i) selectors += "{cel: {expression: \"" + expression + "\"}},";
        return rules.create(
            ("spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: c, selectors: [" + selectors + "]}}]}}").c_str());
    };
    std::string doubled = "optional.of(1)", typed = "[1]";
    for (int i = 0; i < 11; ++i) doubled += ".optMap(a, a)";
    for (int i = 0; i < 45; ++i) typed += ".map(a, {a: a})";
    EXPECT_TRUE(create(doubled + ".hasValue()").contains("expressions are too large, all together"));
    EXPECT_TRUE(create(typed + ".size() == 1").contains("too large"));
    EXPECT_EQ(create("device.driver == 'd'"), "");
}

}  // namespace
}  // namespace porthole::apiserver
