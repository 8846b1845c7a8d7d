#include "apiserver/kinds/rules_fixture.h"

namespace porthole::apiserver {
namespace {

#define POD_TEMPLATE "{metadata: {labels: {app: x}}, spec: {containers: [{name: c, image: busybox}]}}"
constexpr const char* Selected = "spec: {selector: {matchLabels: {app: x}}, template: " POD_TEMPLATE "}";

struct DeploymentRules : testing::Test {
    RulesOf rules{"apps", "v1", "Deployment", Selected};
};

TEST_F(DeploymentRules, FillsWhatIsNotSaid) {
    const schema::Value made = rules.created();
    EXPECT_EQ(made.at_path({"spec", "replicas"})->as_int(), 1);
    EXPECT_EQ(made.at_path({"spec", "revisionHistoryLimit"})->as_int(), 10);
    EXPECT_EQ(made.at_path({"spec", "progressDeadlineSeconds"})->as_int(), 600);
    EXPECT_EQ(made.string_at({"spec", "strategy", "type"}), "RollingUpdate");
    EXPECT_EQ(made.string_at({"spec", "strategy", "rollingUpdate", "maxSurge"}), "25%");
    EXPECT_EQ(made.string_at({"spec", "template", "spec", "restartPolicy"}), "Always");
    EXPECT_FALSE(rules.created("spec: {strategy: {type: Recreate}}").at_path({"spec", "strategy", "rollingUpdate"}));
}

TEST_F(DeploymentRules, RefusesInKubernetesWords) {
    expect_answers(
        rules, {
                   {"as it is", "{}", ""},
                   {"no selector", "spec: {selector: null}",
                    "[spec.selector: Required value, spec.template.metadata.labels: Invalid value: {\"app\":\"x\"}: `selector` does not "
                    "match template `labels`]"},
                   {"empty selector", "spec: {selector: {matchLabels: null}}",
                    "spec.selector: Invalid value: {}: empty selector is invalid for deployment"},
                   {"another's labels", "spec: {selector: {matchLabels: {app: z}}}",
                    "spec.template.metadata.labels: Invalid value: {\"app\":\"x\"}: `selector` does not match template `labels`"},
                   {"negative replicas", "spec: {replicas: -1}", "spec.replicas: Invalid value: -1: must be greater than or equal to 0"},
                   {"no progress", "spec: {minReadySeconds: 600}",
                    "spec.progressDeadlineSeconds: Invalid value: 600: must be greater than minReadySeconds"},
                   {"recreate and roll", "spec: {strategy: {type: Recreate, rollingUpdate: {maxSurge: 1}}}",
                    "spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'"},
                   {"both zero", "spec: {strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 0}}}",
                    "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0"},
                   {"more than all", "spec: {strategy: {rollingUpdate: {maxUnavailable: 101%}}}",
                    "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: \"101%\": must not be greater than 100%"},
                   {"surge may be more than all", "spec: {strategy: {rollingUpdate: {maxSurge: 200%}}}", ""},
                   {"one-shot pods", "spec: {template: {spec: {restartPolicy: Never, activeDeadlineSeconds: 5}}}",
                    "[spec.template.spec.restartPolicy: Unsupported value: \"Never\": supported values: \"Always\", "
                    "spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ReplicaSet is not Supported]"},
                   {"nothing to run", "spec: {template: {spec: {containers: null}}}", "spec.template.spec.containers: Required value"},
                   {"container without image", "spec: {template: {spec: {containers: [{name: c}]}}}",
                    "spec.template.spec.containers[0].image: Required value"},
               });
}

TEST_F(DeploymentRules, KeepsItsSelector) {
    EXPECT_EQ(rules.update("spec: {replicas: 5}"), "");
    EXPECT_EQ(rules.update("spec: {selector: {matchLabels: {tier: z}}, template: {metadata: {labels: {tier: z}}}}"),
              "spec.selector: Invalid value: {\"matchLabels\":{\"app\":\"x\",\"tier\":\"z\"}}: field is immutable");
}

TEST_F(DeploymentRules, CountsInItsStatusAgree) {
    expect_status_answers(
        rules, "status: {replicas: 2, collisionCount: 1}",
        {
            {"well", "status: {updatedReplicas: 2, readyReplicas: 1, availableReplicas: 1}", ""},
            {"too many", "status: {updatedReplicas: 3}",
             "status.updatedReplicas: Invalid value: 3: cannot be greater than status.replicas"},
            {"available but not ready", "status: {availableReplicas: 1}",
             "status.availableReplicas: Invalid value: 1: cannot be greater than readyReplicas"},
            {"fewer collisions", "status: {collisionCount: 0}", "status.collisionCount: Invalid value: 0: cannot be decremented"},
        });
}

TEST(ReplicaSetRules, RefusesInKubernetesWords) {
    RulesOf rules("apps", "v1", "ReplicaSet", Selected);
    expect_answers(rules, {
                              {"as it is", "{}", ""},
                              {"negative", "spec: {replicas: -1, minReadySeconds: -2}",
                               "[spec.replicas: Invalid value: -1: must be greater than or equal to 0, spec.minReadySeconds: Invalid "
                               "value: -2: must be greater than or equal to 0]"},
                              {"empty selector", "spec: {selector: {matchLabels: null}}",
                               "spec.selector: Invalid value: {}: empty selector is invalid for deployment"},
                          });
    EXPECT_EQ(rules.update_status("{}", "status: {replicas: 1, readyReplicas: 2}"),
              "status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas");
}

TEST(DaemonSetRules, RefusesInKubernetesWords) {
    RulesOf rules("apps", "v1", "DaemonSet", Selected);
    const schema::Value made = rules.created();
    EXPECT_EQ(made.at_path({"spec", "updateStrategy", "rollingUpdate", "maxUnavailable"})->as_int(), 1);
    EXPECT_EQ(made.string_at({"metadata", "annotations", "deprecated.daemonset.template.generation"}), "1");
    expect_answers(rules,
                   {
                       {"as it is", "{}", ""},
                       {"surge and unavailable", "spec: {updateStrategy: {rollingUpdate: {maxSurge: 1}}}",
                        "spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: 1: may not be set when maxUnavailable is non-zero"},
                       {"neither", "spec: {updateStrategy: {rollingUpdate: {maxUnavailable: 0}}}",
                        "spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when maxSurge is 0"},
                       {"another's labels", "spec: {selector: {matchLabels: {app: z}}}",
                        "spec.template.metadata.labels: Invalid value: {\"app\":\"x\"}: `selector` does not match template `labels`"},
                       {"deadline", "spec: {template: {spec: {activeDeadlineSeconds: 5}}}",
                        "spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in DaemonSet is not Supported"},
                   });
}

TEST(StatefulSetRules, RefusesInKubernetesWords) {
    RulesOf rules("apps", "v1", "StatefulSet", Selected);
    EXPECT_EQ(rules.created().at_path({"spec", "updateStrategy", "rollingUpdate", "partition"})->as_int(), 0);
    expect_answers(
        rules,
        {
            {"as it is", "{}", ""},
            {"a claim's volume",
             "spec: {volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: "
             "1Gi}}}}], template: {spec: {containers: [{name: c, image: i, volumeMounts: [{name: data, mountPath: /d}]}]}}}",
             ""},
            {"a volume of nothing",
             "spec: {template: {spec: {containers: [{name: c, image: i, volumeMounts: [{name: data, mountPath: /d}]}]}}}",
             "spec.template.spec.containers[0].volumeMounts[0].name: Not found: \"data\""},
            {"name with dots", "metadata: {name: a.b}", "metadata.name: Invalid value: \"a.b\": must not contain dots"},
            {"policy", "spec: {podManagementPolicy: Random}",
             "spec.podManagementPolicy: Invalid value: \"Random\": must be 'OrderedReady' or 'Parallel'"},
            {"on delete, but rolling", "spec: {updateStrategy: {type: OnDelete, rollingUpdate: {partition: 1}}}",
             "spec.updateStrategy.rollingUpdate: Invalid value: {\"partition\":1}: only allowed for updateStrategy 'RollingUpdate'"},
            {"partition", "spec: {updateStrategy: {rollingUpdate: {partition: -1}}}",
             "spec.updateStrategy.rollingUpdate.partition: Invalid value: -1: must be greater than or equal to 0"},
            {"retention", "spec: {persistentVolumeClaimRetentionPolicy: {whenScaled: Never}}",
             "spec.persistentVolumeClaimRetentionPolicy.whenScaled: Unsupported value: \"Never\": supported values: \"Delete\", "
             "\"Retain\""},
        });
    expect_update_answers(
        rules,
        {
            {"what may change", "spec: {replicas: 3, minReadySeconds: 1, template: {metadata: {labels: {more: z}}}}", ""},
            {"what may not", "spec: {serviceName: other}",
             "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
             "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"},
        });
}

TEST(ReplicationControllerRules, TakesSelectorAndLabelsFromItsTemplate) {
    RulesOf rules("", "v1", "ReplicationController", "spec: {template: " POD_TEMPLATE "}");
    const schema::Value made = rules.created();
    EXPECT_EQ(made.string_at({"spec", "selector", "app"}), "x");
    EXPECT_EQ(made.string_at({"metadata", "labels", "app"}), "x");
    EXPECT_EQ(rules.create("spec: {selector: {app: z}}"),
              "spec.template.metadata.labels: Invalid value: {\"app\":\"x\"}: `selector` does not match template `labels`");
    EXPECT_EQ(rules.create("spec: {template: null}"), "[spec.selector: Required value, spec.template: Required value]");
}

TEST(ControllerRevisionRules, KeepsItsData) {
    RulesOf rules("apps", "v1", "ControllerRevision", "{revision: 1, data: {spec: {}}}");
    expect_answers(rules, {
                              {"as it is", "{}", ""},
                              {"no data", "data: null", "data: Required value: data is mandatory"},
                              {"negative", "revision: -1", "revision: Invalid value: -1: must be greater than or equal to 0"},
                          });
    EXPECT_EQ(rules.update("data: {other: 1}"), "data: Invalid value: {\"spec\":{},\"other\":1}: field is immutable");
}

constexpr const char* OneShot = "spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: busybox}]}}}";

struct JobRules : testing::Test {
    RulesOf rules{"batch", "v1", "Job", OneShot};
};

TEST_F(JobRules, SelectsItsPodsByItsUid) {
    const schema::Value made = rules.created();
    EXPECT_EQ(made.string_at({"spec", "selector", "matchLabels", "batch.kubernetes.io/controller-uid"}), "uid-1");
    for (const char* label : {"batch.kubernetes.io/controller-uid", "controller-uid"})
        EXPECT_EQ(made.string_at({"spec", "template", "metadata", "labels", label}), "uid-1");
    for (const char* label : {"batch.kubernetes.io/job-name", "job-name"})
        EXPECT_EQ(made.string_at({"spec", "template", "metadata", "labels", label}), "x");
    EXPECT_EQ(made.at_path({"spec", "completions"})->as_int(), 1);
    EXPECT_EQ(made.at_path({"spec", "parallelism"})->as_int(), 1);
    EXPECT_EQ(made.at_path({"spec", "backoffLimit"})->as_int(), 6);
    EXPECT_FALSE(rules.created("spec: {parallelism: 3}").at_path({"spec", "completions"}));
}

TEST_F(JobRules, RefusesInKubernetesWords) {
    expect_answers(
        rules,
        {
            {"as it is", "{}", ""},
            {"pods that never end", "spec: {template: {spec: {restartPolicy: Always}}}",
             "spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\""},
            {"negative", "spec: {completions: -1, backoffLimit: -2}",
             "[spec.completions: Invalid value: -1: must be greater than or equal to 0, spec.backoffLimit: Invalid value: -2: must be "
             "greater than or equal to 0]"},
            {"selector of one's own", "spec: {selector: {matchLabels: {a: b}}}",
             "[spec.selector: Invalid value: {\"matchLabels\":{\"a\":\"b\",\"batch.kubernetes.io/controller-uid\":\"uid-1\"}}: `selector` "
             "not auto-generated, "
             "spec.template.metadata.labels: Invalid value: "
             "{\"batch.kubernetes.io/controller-uid\":\"uid-1\",\"batch.kubernetes.io/job-name\":\"x\","
             "\"controller-uid\":\"uid-1\",\"job-name\":\"x\"}: `selector` does not match template `labels`]"},
            {"a selector by hand", "spec: {manualSelector: true, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}}}",
             ""},
            {"indexed without completions", "spec: {completionMode: Indexed, parallelism: 2}",
             "spec.completions: Required value: when completion mode is Indexed"},
            {"by index, but not indexed", "spec: {backoffLimitPerIndex: 1}",
             "spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode"},
            {"failure policy that restarts",
             "spec: {podFailurePolicy: {rules: [{action: Ignore, onPodConditions: [{type: DisruptionTarget}]}]}, "
             "template: {spec: {restartPolicy: OnFailure}}}",
             "spec.template.spec.restartPolicy: Invalid value: \"OnFailure\": only \"Never\" is supported when podFailurePolicy is "
             "specified"},
            {"exit codes", "spec: {podFailurePolicy: {rules: [{action: FailJob, onExitCodes: {operator: In, values: [0, 5, 3]}}]}}",
             "[spec.podFailurePolicy.rules[0].onExitCodes.values[0]: Invalid value: 0: must not be 0 for the In operator, "
             "spec.podFailurePolicy.rules[0].onExitCodes.values: Invalid value: [0,5,3]: must be ordered]"},
            {"success by index",
             "spec: {completionMode: Indexed, completions: 5, successPolicy: {rules: [{succeededIndexes: '1,3-4', succeededCount: 4}]}}",
             "spec.successPolicy.rules[0].succeededCount: Invalid value: 4: must be less than or equal to 3 (the number of indexes in the "
             "specified "
             "succeededIndexes field)"},
        });
}

TEST_F(JobRules, KeepsWhatMakesItsPods) {
    expect_update_answers(
        rules,
        {
            {"free", "spec: {parallelism: 3, suspend: true, backoffLimit: 1, activeDeadlineSeconds: 9, ttlSecondsAfterFinished: 1}", ""},
            {"completions", "spec: {completions: 2}", "spec.completions: Invalid value: 2: field is immutable"},
            {"the manifest again", "spec: {selector: null, template: {metadata: null}}", ""},
            {"mode", "spec: {completionMode: Indexed}", "spec.completionMode: Invalid value: \"Indexed\": field is immutable"},
        });
    EXPECT_NE(rules.update("spec: {template: {spec: {nodeSelector: {a: b}}}}").find("spec.template: Invalid value: "), std::string::npos);
    EXPECT_EQ(rules.update("spec: {suspend: true}", "spec: {template: {spec: {nodeSelector: {a: b}}}}"), "") << "suspended, not started";
    EXPECT_EQ(rules.update("spec: {completionMode: Indexed, completions: 2, parallelism: 2}", "spec: {completions: 3, parallelism: 3}"),
              "");
}

TEST_F(JobRules, EndsOnce) {
    constexpr const char* Complete =
        "status: {startTime: '2024-01-01T00:00:00Z', completionTime: '2024-01-01T01:00:00Z', "
        "conditions: [{type: Complete, status: 'True'}]}";
    EXPECT_EQ(rules.update_status("{}", Complete), "");
    EXPECT_EQ(rules.update_status("{}", "status: {conditions: [{type: Complete, status: 'True'}]}"),
              "status.completionTime: Required value: completionTime is required for Complete jobs");
    EXPECT_NE(rules.update_status(Complete, "status: {conditions: []}").find("cannot disable the terminal Complete=True condition"),
              std::string::npos);
}

TEST(CronJobRules, RefusesInKubernetesWords) {
    RulesOf rules("batch", "v1", "CronJob",
                  "spec: {schedule: '*/5 * * * *', jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, "
                  "image: i}]}}}}}");
    expect_answers(
        rules,
        {
            {"as it is", "{}", ""},
            {"macro", "spec: {schedule: '@hourly', timeZone: Europe/Berlin}", ""},
            {"no schedule", "spec: {schedule: ''}", "spec.schedule: Required value"},
            {"no cron", "spec: {schedule: 'error'}",
             "spec.schedule: Invalid value: \"error\": expected exactly 5 fields, found 1: [error]"},
            {"zone in the schedule", "spec: {schedule: 'TZ=UTC 0 * * * *'}",
             "spec.schedule: Invalid value: \"TZ=UTC 0 * * * *\": cannot use TZ or CRON_TZ in schedule, use timeZone field instead"},
            {"local", "spec: {timeZone: Local}",
             "spec.timeZone: Invalid value: \"Local\": timeZone must be an explicit time zone as defined in "
             "https://www.iana.org/time-zones"},
            {"policy", "spec: {concurrencyPolicy: Never}",
             "spec.concurrencyPolicy: Unsupported value: \"Never\": supported values: \"Allow\", \"Forbid\", \"Replace\""},
            {"restarting pods", "spec: {jobTemplate: {spec: {template: {spec: {restartPolicy: Always}}}}}",
             "spec.jobTemplate.spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\""},
            {"long name", "metadata: {name: aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeefff}",
             "metadata.name: Invalid value: \"aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeefff\": must be no more than 52 bytes"},
        });
}

TEST(PodTemplateRules, ChecksItsTemplate) {
    RulesOf rules("", "v1", "PodTemplate", "template: " POD_TEMPLATE);
    EXPECT_EQ(rules.create(), "");
    EXPECT_EQ(rules.create("template: {spec: {containers: null}}"), "template.spec.containers: Required value");
}

TEST(PodRules, ClaimsAreNamedOnceAndKnown) {
    RulesOf rules("", "v1", "Pod", "spec: {containers: [{name: c, image: i}], resourceClaims: [{name: gpu, resourceClaimName: g}]}");
    expect_answers(
        rules,
        {
            {"as it is", "{}", ""},
            {"used", "spec: {containers: [{name: c, image: i, resources: {claims: [{name: gpu}]}}]}", ""},
            {"by template", "spec: {resourceClaims: [{name: gpu, resourceClaimTemplateName: t}]}", ""},
            {"two requests",
             "spec: {containers: [{name: c, image: i, resources: {claims: [{name: gpu, request: a}, {name: gpu, request: b}]}}]}", ""},
            {"of a static pod", "{metadata: {annotations: {kubernetes.io/config.mirror: x}}, spec: {nodeName: one}}",
             "Forbidden: static pods do not support resource claims"},
            {"no name", "spec: {resourceClaims: [{resourceClaimName: g}]}", "spec.resourceClaims[0].name: Required value"},
            {"twice", "spec: {resourceClaims: [{name: a, resourceClaimName: g}, {name: a, resourceClaimName: g}]}",
             "spec.resourceClaims[1].name: Duplicate value: \"a\""},
            {"of nothing", "spec: {resourceClaims: [{name: a}]}",
             "spec.resourceClaims[0]: Invalid value: {\"name\":\"a\"}: must specify one of: `resourceClaimName`, "
             "`resourceClaimTemplateName`"},
            {"of both", "spec: {resourceClaims: [{name: a, resourceClaimName: g, resourceClaimTemplateName: t}]}",
             "spec.resourceClaims[0]: Invalid value: {\"name\":\"a\",\"resourceClaimName\":\"g\",\"resourceClaimTemplateName\":\"t\"}: at "
             "most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"},
            {"no such entry", "spec: {containers: [{name: c, image: i, resources: {claims: [{name: nic}]}}]}",
             "spec.containers[0].resources.claims[0]: Not found: \"nic\": must be one of the names in pod.spec.resourceClaims: gpu"},
            {"no entries", "spec: {resourceClaims: null, containers: [{name: c, image: i, resources: {claims: [{name: nic}]}}]}",
             "spec.containers[0].resources.claims[0]: Not found: \"nic\": must be one of the names in pod.spec.resourceClaims which is "
             "empty"},
            {"used without a name", "spec: {containers: [{name: c, image: i, resources: {claims: [{request: a}]}}]}",
             "spec.containers[0].resources.claims[0]: Required value"},
            {"used twice", "spec: {containers: [{name: c, image: i, resources: {claims: [{name: gpu}, {name: gpu, request: a}]}}]}",
             "spec.containers[0].resources.claims[1]: Duplicate value: \"gpu\""},
            {"a request and all", "spec: {containers: [{name: c, image: i, resources: {claims: [{name: gpu, request: a}, {name: gpu}]}}]}",
             "spec.containers[0].resources.claims[1]: Duplicate value: \"gpu\""},
            {"a request twice",
             "spec: {containers: [{name: c, image: i, resources: {claims: [{name: gpu, request: a}, {name: gpu, request: a}]}}]}",
             "spec.containers[0].resources.claims[1]: Duplicate value: \"gpu/a\""},
        });
    EXPECT_TRUE(
        rules.create("spec: {resourceClaims: [{name: A, resourceClaimName: g}]}").starts_with("spec.resourceClaims[0].name: Invalid"));
    EXPECT_TRUE(rules.create("spec: {resourceClaims: [{name: a, resourceClaimName: G}]}")
                    .starts_with("spec.resourceClaims[0].resourceClaimName: Invalid"));
}

TEST(PodRules, AClaimForExtendedResourcesIsForContainersThatAskForThem) {
    RulesOf rules("", "v1", "Pod",
                  "spec: {containers: [{name: c, image: i, terminationMessagePolicy: File, imagePullPolicy: Always, "
                  "resources: {requests: {example.com/gpu: 1}, limits: {example.com/gpu: 1}}}]}");
    const auto status = [&](const std::string& container, const std::string& resource, const std::string& claim) {
        const std::string text = "status: {extendedResourceClaimStatus: {resourceClaimName: \"" + claim +
                                 "\", requestMappings: [{containerName: " + container + ", resourceName: " + resource +
                                 ", requestName: container-0-request-0}]}}";
        return rules.update_status("{}", text.c_str());
    };
    EXPECT_EQ(status("c", "example.com/gpu", "claim"), "");
    EXPECT_EQ(
        status("d", "example.com/gpu", "claim"),
        "status.extendedResourceClaimStatus.requestMappings[0].containerName: Invalid value: \"d\": must match the name of an entry in "
        "spec.initContainers.name or spec.containers.name");
    EXPECT_EQ(
        status("c", "cpu", ""),
        "[status.extendedResourceClaimStatus.requestMappings[0].resourceName: Invalid value: \"cpu\": must match the extended resource "
        "name of an entry in spec.initContainers.resources.requests or spec.containers.resources.requests, "
        "status.extendedResourceClaimStatus.resourceClaimName: Required value]");
}

}  // namespace
}  // namespace porthole::apiserver
