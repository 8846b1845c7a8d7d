// Kinds of the network, of storage, of policy and of the cluster itself.
#include "apiserver/kinds/rules_fixture.h"

#include <algorithm>
#include <set>

#include "api/autoscaling_v2.h"
#include "base/base64.h"
#include "net/tls/x509.h"
#include "schema/convert.h"

namespace porthole::apiserver {
namespace {

using schema::Value;

// --- Network ---

TEST(IngressRules, RefuseInKubernetesWords) {
    RulesOf rules("networking.k8s.io", "v1", "Ingress",
                  "spec: {rules: [{host: a.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: s, port: "
                  "{number: 80}}}}]}}]}");
    expect_answers(
        rules,
        {
            {"as it is", "{}", ""},
            {"nothing to route", "spec: {rules: null}", "spec: Invalid value: {}: either `defaultBackend` or `rules` must be specified"},
            {"an address as host", "spec: {rules: [{host: 10.1.2.3}]}",
             "spec.rules[0].host: Invalid value: \"10.1.2.3\": must be a DNS name, not an IP address"},
            {"a wildcard", "spec: {rules: [{host: '*.example.com'}]}", ""},
            {"no path type", "spec: {rules: [{http: {paths: [{path: /, backend: {service: {name: s, port: {name: http}}}}]}}]}",
             "spec.rules[0].http.paths[0].pathType: Required value: pathType must be specified"},
            {"paths that climb",
             "spec: {rules: [{http: {paths: [{path: /a/../b, pathType: Exact, backend: {service: {name: s, port: {number: 1}}}}]}}]}",
             "spec.rules[0].http.paths[0].path: Invalid value: \"/a/../b\": must not contain '/../'"},
            {"no backend", "spec: {defaultBackend: {}}",
             "spec.defaultBackend: Invalid value: \"\": resource or service backend is required"},
            {"no port", "spec: {defaultBackend: {service: {name: s}}}",
             "spec.defaultBackend.service: Required value: port name or number is required"},
            {"two classes", "{metadata: {annotations: {kubernetes.io/ingress.class: a}}, spec: {ingressClassName: b}}",
             "annotations.kubernetes.io/ingress.class: Invalid value: \"a\": must match `ingressClassName` when both are specified"},
        });
    EXPECT_EQ(rules.update_status("{}", "status: {loadBalancer: {ingress: [{hostname: 10.1.2.3}]}}"),
              "status.loadBalancer.ingress[0].hostname: Invalid value: \"10.1.2.3\": must be a DNS name, not an IP address");
}

TEST(IngressClassRules, KeepTheirController) {
    RulesOf rules("networking.k8s.io", "v1", "IngressClass", "spec: {controller: example.com/c}");
    expect_answers(rules, {
                              {"as it is", "{}", ""},
                              {"no path", "spec: {controller: example.com}",
                               "spec.controller: Invalid value: \"example.com\": must be a domain-prefixed path (such as \"acme.io/foo\")"},
                              {"namespaced parameters", "spec: {parameters: {kind: K, name: p, scope: Namespace}}",
                               "spec.parameters.namespace: Required value: `parameters.scope` is set to 'Namespace'"},
                              {"cluster's by default", "spec: {parameters: {kind: K, name: p, namespace: a}}",
                               "spec.parameters.namespace: Forbidden: `parameters.scope` is set to 'Cluster'"},
                          });
    EXPECT_EQ(rules.update("spec: {controller: example.com/d}"), "spec.controller: Invalid value: \"example.com/d\": field is immutable");
}

TEST(NetworkPolicyRules, RefuseInKubernetesWords) {
    RulesOf rules("networking.k8s.io", "v1", "NetworkPolicy", "spec: {podSelector: {}, egress: [{ports: [{port: 53}]}]}");
    EXPECT_EQ(rules.created().at_path({"spec", "policyTypes"})->as_array().size(), 2u);
    expect_answers(
        rules,
        {
            {"as it is", "{}", ""},
            {"end before begin", "spec: {egress: [{ports: [{port: 53, endPort: 50}]}]}",
             "spec.egress[0].ports[0].endPort: Invalid value: 50: must be greater than or equal to `port`"},
            {"a peer that is nobody", "spec: {ingress: [{from: [{}]}]}", "spec.ingress[0].from[0]: Required value: must specify a peer"},
            {"block and pods", "spec: {ingress: [{from: [{podSelector: {}, ipBlock: {cidr: 10.0.0.0/8}}]}]}",
             "spec.ingress[0].from[0]: Forbidden: may not specify both ipBlock and another peer"},
            {"exception outside", "spec: {ingress: [{from: [{ipBlock: {cidr: 10.0.0.0/8, except: [11.0.0.0/16]}}]}]}",
             "spec.ingress[0].from[0].ipBlock.except[0]: Invalid value: \"11.0.0.0/16\": must be a strict subset of `cidr`"},
            {"an unknown type", "spec: {policyTypes: [Sideways]}",
             "spec.policyTypes[0]: Unsupported value: \"Sideways\": supported values: \"Egress\", \"Ingress\""},
        });
}

TEST(EndpointsRules, RefuseInKubernetesWords) {
    RulesOf rules("", "v1", "Endpoints", "subsets: [{addresses: [{ip: 10.1.2.3}], ports: [{port: 80}]}]");
    EXPECT_EQ(rules.created().find("subsets")->as_array()[0].find("ports")->as_array()[0].string_at({"protocol"}), "TCP");
    expect_answers(
        rules, {
                   {"as it is", "{}", ""},
                   {"nobody there", "subsets: [{ports: [{port: 80}]}]",
                    "subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`"},
                   {"loopback", "subsets: [{addresses: [{ip: 127.0.0.1}]}]",
                    "subsets[0].addresses[0].ip: Invalid value: \"127.0.0.1\": may not be in the loopback range (127.0.0.0/8, ::1/128)"},
                   {"no address", "subsets: [{addresses: [{ip: x}]}]",
                    "subsets[0].addresses[0].ip: Invalid value: \"x\": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"},
                   {"two without names", "subsets: [{addresses: [{ip: 10.1.2.3}], ports: [{port: 80}, {port: 81}]}]",
                    "[subsets[0].ports[0].name: Required value, subsets[0].ports[1].name: Required value]"},
               });
}

TEST(EndpointSliceRules, RefuseInKubernetesWords) {
    RulesOf rules("discovery.k8s.io", "v1", "EndpointSlice",
                  "{addressType: IPv4, endpoints: [{addresses: [10.1.2.3]}], ports: [{port: 80}]}");
    expect_answers(
        rules,
        {
            {"as it is", "{}", ""},
            {"unknown type", "addressType: IPX", "addressType: Unsupported value: \"IPX\": supported values: \"FQDN\", \"IPv4\", \"IPv6\""},
            {"no address", "endpoints: [{addresses: []}]", "endpoints[0].addresses: Required value: must contain at least 1 address"},
            {"a name twice", "ports: [{port: 80}, {port: 81}]", "ports[1].name: Duplicate value: \"\""},
        });
    EXPECT_EQ(rules.update("{addressType: FQDN, endpoints: []}"), "addressType: Invalid value: \"FQDN\": field is immutable");
}

TEST(AddressRules, AreCanonicalAndKeepTheirParent) {
    RulesOf rules("networking.k8s.io", "v1", "IPAddress",
                  "{metadata: {name: 10.96.0.1}, spec: {parentRef: {resource: services, name: s, namespace: a}}}");
    expect_answers(rules, {
                              {"as it is", "{}", ""},
                              {"no address", "metadata: {name: abc}",
                               "metadata.name: Invalid value: \"abc\": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"},
                              {"another spelling", "metadata: {name: '2001:DB8::1'}",
                               "metadata.name: Invalid value: \"2001:DB8::1\": must be in canonical form (\"2001:db8::1\")"},
                              {"nobody's", "spec: {parentRef: null}", "spec.parentRef: Required value"},
                          });
    EXPECT_NE(rules.update("spec: {parentRef: {name: other}}").find("spec.parentRef: Invalid value: "), std::string::npos);

    RulesOf ranges("networking.k8s.io", "v1", "ServiceCIDR", "spec: {cidrs: [10.96.0.0/16]}");
    expect_answers(ranges, {
                               {"as it is", "{}", ""},
                               {"none", "spec: {cidrs: null}", "spec.cidrs: Required value: at least one CIDR required"},
                               {"one family twice", "spec: {cidrs: [10.96.0.0/16, 10.97.0.0/16]}",
                                "spec.cidrs: Invalid value: [\"10.96.0.0/16\",\"10.97.0.0/16\"]: may specify no more than one IP for each "
                                "IP family, i.e 192.168.0.0/24 and 2001:db8::/64"},
                           });
    EXPECT_EQ(ranges.update("spec: {cidrs: [10.96.0.0/16, 'fd00::/112']}"), "");
    EXPECT_EQ(ranges.update("spec: {cidrs: [10.97.0.0/16]}"), "spec.cidrs: Invalid value: [\"10.97.0.0/16\"]: field is immutable");
}

// --- Storage ---

TEST(ClaimRules, RefuseInKubernetesWords) {
    RulesOf rules("", "v1", "PersistentVolumeClaim", "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}");
    expect_answers(rules,
                   {
                       {"as it is", "{}", ""},
                       {"no mode", "spec: {accessModes: null}", "spec.accessModes: Required value: at least 1 access mode is required"},
                       {"no size", "spec: {resources: null}", "spec.resources[storage]: Required value"},
                       {"zero", "spec: {resources: {requests: {storage: 0}}}",
                        "spec.resources[storage]: Invalid value: \"0\": must be greater than zero"},
                       {"alone with others", "spec: {accessModes: [ReadWriteOncePod, ReadWriteOnce]}",
                        "spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes"},
                   });
    EXPECT_EQ(rules.create("spec: {dataSource: {kind: Secret, name: s}}"),
              "[spec.dataSource: Invalid value: \"Secret\": must be 'PersistentVolumeClaim' when referencing the default apiGroup, "
              "spec.dataSourceRef: Invalid value: \"Secret\": must be 'PersistentVolumeClaim' when referencing the default apiGroup]");
    EXPECT_EQ(rules.update("spec: {accessModes: [ReadOnlyMany]}").substr(0, 108),
              "spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName fo");
    EXPECT_EQ(rules.update("spec: {volumeName: v}"), "") << "bound once";
}

TEST(ClaimRules, TakeNoSourceOfAnotherNamespace) {
    RulesOf rules("", "v1", "PersistentVolumeClaim", "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}");
    const std::string source = "kind: PersistentVolumeClaim, name: others";
    for (const char* field : {"dataSource", "dataSourceRef"}) {
        EXPECT_TRUE(rules.created(("spec: {dataSourceRef: {" + source + "}}").c_str()).at_path({"spec", field}));
        EXPECT_FALSE(rules.created(("spec: {dataSourceRef: {" + source + ", namespace: other}}").c_str()).at_path({"spec", field}));
    }
}

TEST(ClaimRules, AttributesMayChangeButNotGoAway) {
    RulesOf rules("", "v1", "PersistentVolumeClaim", "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}");
    // Create clears the status, so that the rule is asked with one of a bound claim.
    EXPECT_EQ(rules.update("spec: {volumeAttributesClassName: gold}").substr(0, 15), "spec: Forbidden") << "not bound";
    EXPECT_EQ(rules.create("spec: {volumeAttributesClassName: Gold}").substr(0, 53),
              "spec.volumeAttributesClassName: Invalid value: \"Gold\"");
}

TEST(ClaimRules, GrowthIsToldInKnownWords) {
    RulesOf rules("", "v1", "PersistentVolumeClaim", "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}");
    const auto status = [&](const char* change) { return rules.update_status("{}", change); };
    EXPECT_EQ(
        status("status: {allocatedResources: {storage: 2Gi, example.com/x: 1}, allocatedResourceStatuses: {storage: NodeResizePending}}"),
        "");
    EXPECT_EQ(status("status: {allocatedResourceStatuses: {storage: Soon}}"),
              "status.allocatedResourceStatuses: Unsupported value: \"storage\": supported values: \"ControllerResizeInProgress\", "
              "\"ControllerResizeInfeasible\", \"NodeResizeInProgress\", \"NodeResizeInfeasible\", \"NodeResizePending\"");
    EXPECT_EQ(status("status: {allocatedResources: {cpu: 1}}"),
              "status.allocatedResources: Unsupported value: \"cpu\": supported values: \"storage\"");
    EXPECT_EQ(status("status: {capacity: {storage: -1}}"),
              "status.capacity[storage]: Invalid value: \"-1\": must be a valid resource quantity");
}

TEST(VolumeRules, RefuseInKubernetesWords) {
    RulesOf rules("", "v1", "PersistentVolume", "spec: {accessModes: [ReadWriteOnce], capacity: {storage: 1Gi}, hostPath: {path: /data}}");
    EXPECT_EQ(rules.created().string_at({"spec", "persistentVolumeReclaimPolicy"}), "Retain");
    expect_answers(
        rules, {
                   {"as it is", "{}", ""},
                   {"no source", "spec: {hostPath: null}", "spec: Required value: must specify a volume type"},
                   {"two sources", "spec: {nfs: {server: s, path: /x}}", "spec.nfs: Forbidden: may not specify more than 1 volume type"},
                   {"a driver's volume without handle", "spec: {hostPath: null, csi: {driver: csi.example.com, volumeHandle: ''}}",
                    "spec.csi.volumeHandle: Required value"},
                   {"a driver's secret without namespace",
                    "spec: {hostPath: null, csi: {driver: csi.example.com, volumeHandle: h, nodePublishSecretRef: {name: s}}}",
                    "spec.csi.nodePublishSecretRef.namespace: Required value"},
                   {"attributes of no driver", "spec: {volumeAttributesClassName: gold}",
                    "spec.csi: Required value: has to be specified when using volumeAttributesClassName"},
                   {"a local disk anywhere", "spec: {hostPath: null, local: {path: /d}}",
                    "spec.nodeAffinity: Required value: Local volume requires node affinity"},
                   {"recycled root", "spec: {hostPath: {path: /}, persistentVolumeReclaimPolicy: Recycle}",
                    "spec.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath mount of '/'"},
               });
    EXPECT_EQ(rules.update("spec: {hostPath: {path: /other}}").substr(0, 93),
              "spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creati");
    RulesOf disks("", "v1", "PersistentVolume",
                  "spec: {accessModes: [ReadWriteOnce], capacity: {storage: 1Gi}, csi: {driver: csi.example.com, volumeHandle: h}}");
    EXPECT_EQ(disks.update("spec: {csi: {controllerExpandSecretRef: {name: s, namespace: ns}}}"), "");
    EXPECT_NE(disks.update("spec: {csi: {nodeExpandSecretRef: {name: s, namespace: ns}}}"), "");
    EXPECT_EQ(disks.update("spec: {volumeAttributesClassName: gold}", "spec: {volumeAttributesClassName: silver}"), "");
    EXPECT_EQ(disks.update("spec: {volumeAttributesClassName: gold}", "spec: {volumeAttributesClassName: null}"),
              "spec.volumeAttributesClassName: Forbidden: update from non-nil value to nil is forbidden");
}

// --- Devices ---

TEST(StorageClassRules, KeepWhatMadeVolumes) {
    RulesOf rules("storage.k8s.io", "v1", "StorageClass", "{provisioner: example.com/disk, parameters: {a: b}}");
    EXPECT_EQ(rules.created().string_at({"volumeBindingMode"}), "Immediate");
    expect_answers(rules, {
                              {"as it is", "{}", ""},
                              {"nobody's", "provisioner: ''", "provisioner: Required value"},
                              {"recycle", "reclaimPolicy: Recycle",
                               "reclaimPolicy: Unsupported value: \"Recycle\": supported values: \"Delete\", \"Retain\""},
                          });
    expect_update_answers(
        rules,
        {
            {"free", "{allowVolumeExpansion: true, mountOptions: [ro]}", ""},
            {"fixed", "{parameters: {a: c}, provisioner: other.com/disk, reclaimPolicy: Retain}",
             "[parameters: Forbidden: updates to parameters are forbidden., provisioner: Forbidden: updates to provisioner are forbidden., "
             "reclaimPolicy: Forbidden: updates to reclaimPolicy are forbidden.]"},
            {"binding", "volumeBindingMode: WaitForFirstConsumer",
             "volumeBindingMode: Invalid value: \"WaitForFirstConsumer\": field is immutable"},
        });
}

TEST(CsiRules, RefuseInKubernetesWords) {
    RulesOf drivers("storage.k8s.io", "v1", "CSIDriver", "{metadata: {name: csi.example.com}, spec: {}}");
    EXPECT_EQ(drivers.created().string_at({"spec", "fsGroupPolicy"}), "ReadWriteOnceWithFSType");
    EXPECT_EQ(drivers.create("spec: {tokenRequests: [{audience: a}, {audience: a, expirationSeconds: 5}]}"),
              "[spec.tokenRequests[1].audience: Duplicate value: \"a\", spec.tokenRequests[1].expirationSeconds: Invalid value: 5: may not "
              "specify a "
              "duration less than 10 minutes]");
    EXPECT_EQ(
        drivers.create("spec: {serviceAccountTokenInSecrets: true}"),
        "spec.serviceAccountTokenInSecrets: Invalid value: true: serviceAccountTokenInSecrets is set but no tokenRequests are specified");
    EXPECT_TRUE(drivers.created("spec: {preventPodSchedulingIfMissing: true}").at_path({"spec", "preventPodSchedulingIfMissing"}) ==
                nullptr)
        << "its feature gate is off";
    EXPECT_EQ(drivers.update("spec: {attachRequired: false}"), "spec.attachedRequired: Invalid value: false: field is immutable");

    RulesOf nodes("storage.k8s.io", "v1", "CSINode", "spec: {drivers: [{name: csi.example.com, nodeID: n1}]}");
    EXPECT_EQ(nodes.create(), "");
    EXPECT_EQ(nodes.create("spec: {drivers: [{name: csi.example.com, nodeID: ''}]}"), "spec.drivers[0].nodeID: Required value");
    EXPECT_EQ(nodes.update("spec: {drivers: [{name: csi.example.com, nodeID: n1, allocatable: {count: 5}}]}"), "");
    EXPECT_NE(nodes.update("spec: {drivers: [{name: csi.example.com, nodeID: n2}]}"), "");

    RulesOf attachments("storage.k8s.io", "v1", "VolumeAttachment",
                        "spec: {attacher: csi.example.com, nodeName: n1, source: {persistentVolumeName: v}}");
    EXPECT_EQ(attachments.create(), "");
    EXPECT_EQ(attachments.create("spec: {source: {persistentVolumeName: null}}"),
              "spec.source: Required value: must specify exactly one of inlineVolumeSpec and persistentVolumeName");
    EXPECT_NE(attachments.update("spec: {nodeName: n2}").find("field is immutable"), std::string::npos);
    EXPECT_EQ(attachments.create("spec: {source: {persistentVolumeName: null, inlineVolumeSpec: {accessModes: [ReadWriteOnce], "
                                 "csi: {driver: csi.example.com, volumeHandle: h}}}}"),
              "");
    EXPECT_EQ(attachments.create("spec: {source: {persistentVolumeName: null, inlineVolumeSpec: {accessModes: [ReadWriteOnce], "
                                 "capacity: {storage: 1Gi}, nfs: {server: s, path: /x}}}}"),
              "[spec.source.inlineVolumeSpec.capacity: Forbidden: may not be specified in the context of inline volumes, "
              "spec.source.inlineVolumeSpec.csi: Required value: has to be specified in the context of inline volumes]");
}

// --- Policy and scheduling ---

TEST(DisruptionBudgetRules, RefuseInKubernetesWords) {
    RulesOf rules("policy", "v1", "PodDisruptionBudget", "spec: {selector: {matchLabels: {a: b}}}");
    expect_answers(
        rules,
        {
            {"one or none", "spec: {minAvailable: 50%}", ""},
            {"over all", "spec: {maxUnavailable: 101%}", "spec.maxUnavailable: Invalid value: \"101%\": must not be greater than 100%"},
            {"negative", "spec: {minAvailable: -1}", "spec.minAvailable: Invalid value: -1: must be greater than or equal to 0"},
            {"policy", "spec: {unhealthyPodEvictionPolicy: Never}",
             "spec.unhealthyPodEvictionPolicy: Unsupported value: \"Never\": supported values: \"AlwaysAllow\", \"IfHealthyBudget\""},
        });
    EXPECT_NE(rules.create("spec: {minAvailable: 1, maxUnavailable: 1}").find("minAvailable and maxUnavailable cannot be both set"),
              std::string::npos);
}

TEST(PriorityClassRules, LeaveTheHighestToTheSystem) {
    RulesOf rules("scheduling.k8s.io", "v1", "PriorityClass", "value: 1000");
    EXPECT_EQ(rules.created().string_at({"preemptionPolicy"}), "PreemptLowerPriority");
    expect_answers(
        rules, {
                   {"as it is", "{}", ""},
                   {"too high", "value: 1000000001", "value: Forbidden: maximum allowed value of a user defined priority is 1000000000"},
                   {"the system's name", "metadata: {name: system-mine}",
                    "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only"},
               });
    EXPECT_EQ(rules.update("value: 5"), "Value: Forbidden: may not be changed in an update.");
}

TEST(RuntimeClassRules, KeepTheirHandler) {
    RulesOf rules("node.k8s.io", "v1", "RuntimeClass", "handler: wine");
    EXPECT_EQ(rules.create(), "");
    EXPECT_EQ(rules.create("handler: ''"), "handler: Required value");
    EXPECT_EQ(rules.create("scheduling: {tolerations: [{key: a, operator: Exists}, {key: a, operator: Exists}]}"),
              "scheduling.tolerations[1]: Duplicate value: {\"key\":\"a\",\"operator\":\"Exists\"}");
    EXPECT_EQ(rules.update("handler: runc"), "handler: Invalid value: \"runc\": field is immutable");
}

TEST(AutoscalerRules, FillAndRefuse) {
    RulesOf rules("autoscaling", "v2", "HorizontalPodAutoscaler",
                  "spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, maxReplicas: 5}");
    EXPECT_EQ(rules.warnings(), "");
    const Value made = rules.created("spec: {behavior: {scaleDown: {selectPolicy: Min}}}");
    EXPECT_EQ(made.find("spec")->find("metrics")->as_array()[0].at_path({"resource", "target", "averageUtilization"})->as_int(), 80);
    EXPECT_EQ(made.at_path({"spec", "behavior", "scaleUp", "policies"})->as_array().size(), 2u);
    EXPECT_EQ(made.string_at({"spec", "behavior", "scaleDown", "selectPolicy"}), "Min");
    expect_answers(
        rules,
        {
            {"as it is", "{}", ""},
            {"less than least", "spec: {minReplicas: 6}",
             "spec.maxReplicas: Invalid value: 5: must be greater than or equal to `minReplicas`"},
            {"none", "spec: {minReplicas: 0}", "spec.minReplicas: Invalid value: 0: must be greater than or equal to 1"},
            {"no target", "spec: {scaleTargetRef: {name: ''}}", "spec.scaleTargetRef.name: Required value"},
            {"no source", "spec: {metrics: [{type: Pods}]}",
             "spec.metrics[0].pods: Required value: must populate information for the given metric source"},
            {"both ways",
             "spec: {metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 5, averageValue: "
             "1}}}]}",
             "spec.metrics[0].resource.target.averageValue: Forbidden: may not set both a target raw value and a target utilization"},
            {"a long window", "spec: {behavior: {scaleUp: {stabilizationWindowSeconds: 3601}}}",
             "spec.behavior.scaleUp.stabilizationWindowSeconds: Invalid value: 3601: must be less than or equal to 3600"},
        });
}

TEST(QuotaRules, RefuseInKubernetesWords) {
    RulesOf rules("", "v1", "ResourceQuota", "spec: {hard: {pods: 10, requests.cpu: 2, count/jobs.batch: 3}}");
    expect_answers(
        rules, {
                   {"as it is", "{}", ""},
                   {"unknown", "spec: {hard: {potatoes: 1}}",
                    "spec.hard[potatoes]: Invalid value: \"potatoes\": must be a standard resource for quota"},
                   {"negative", "spec: {hard: {pods: -1}}", "spec.hard[pods]: Invalid value: \"-1\": must be greater than or equal to 0"},
                   {"half a pod", "spec: {hard: {pods: 500m}}", "spec.hard[pods]: Invalid value: \"500m\": must be an integer"},
                   {"unknown scope", "spec: {scopes: [Nope]}", "spec.scopes: Invalid value: [\"Nope\"]: unsupported scope"},
                   {"scope for what it is not", "spec: {scopes: [BestEffort]}",
                    "spec.scopes: Invalid value: [\"BestEffort\"]: unsupported scope applied to resource"},
                   {"contradiction", "spec: {hard: null, scopes: [Terminating, NotTerminating]}",
                    "spec.scopes: Invalid value: [\"NotTerminating\",\"Terminating\"]: conflicting scopes"},
               });
    EXPECT_EQ(rules.update("spec: {scopes: [Terminating]}"), "spec.scopes: Invalid value: [\"Terminating\"]: field is immutable");
}

TEST(LimitRangeRules, FillAndRefuse) {
    RulesOf rules("", "v1", "LimitRange", "spec: {limits: [{type: Container, max: {cpu: 2}, min: {cpu: 1}}]}");
    const Value item = rules.created().at_path({"spec", "limits"})->as_array()[0];
    EXPECT_EQ(item.string_at({"default", "cpu"}), "2");
    EXPECT_EQ(item.string_at({"defaultRequest", "cpu"}), "2");
    expect_answers(rules,
                   {
                       {"as it is", "{}", ""},
                       {"crossed", "spec: {limits: [{type: Pod, max: {cpu: 1}, min: {cpu: 2}}]}",
                        "spec.limits[0].min[cpu]: Invalid value: \"2\": min value 2 is greater than max value 1"},
                       {"pods have no default", "spec: {limits: [{type: Pod, default: {cpu: 1}}]}",
                        "spec.limits[0].default: Forbidden: may not be specified when `type` is 'Pod'"},
                       {"a type twice", "spec: {limits: [{type: Pod}, {type: Pod}]}", "spec.limits[1].type: Duplicate value: \"Pod\""},
                       {"unknown type", "spec: {limits: [{type: Node}]}",
                        "spec.limits[0].type: Invalid value: \"Node\": must be a standard limit type or fully qualified"},
                       {"ratio", "spec: {limits: [{type: Pod, maxLimitRequestRatio: {cpu: 500m}}]}",
                        "spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: \"500m\": ratio 500m is less than 1"},
                   });
}

// --- Access ---

TEST(RoleRules, RefuseInKubernetesWords) {
    RulesOf roles("rbac.authorization.k8s.io", "v1", "Role", "rules: [{apiGroups: [''], resources: [pods], verbs: [get]}]");
    expect_answers(roles,
                   {
                       {"as it is", "{}", ""},
                       {"a name of a role", "metadata: {name: 'system:node'}", ""},
                       {"a name that is a path", "metadata: {name: a/b}", "metadata.name: Invalid value: \"a/b\": may not contain '/'"},
                       {"no verbs", "rules: [{apiGroups: [''], resources: [pods], verbs: []}]",
                        "rules[0].verbs: Required value: verbs must contain at least one value"},
                       {"no group", "rules: [{resources: [pods], verbs: [get]}]",
                        "rules[0].apiGroups: Required value: resource rules must supply at least one api group"},
                       {"paths", "rules: [{nonResourceURLs: [/x], verbs: [get]}]",
                        "rules[0].nonResourceURLs: Invalid value: [\"/x\"]: namespaced rules cannot apply to non-resource URLs"},
                   });
    RulesOf bindings("rbac.authorization.k8s.io", "v1", "RoleBinding",
                     "{roleRef: {kind: Role, name: r}, subjects: [{kind: User, name: jane}]}");
    EXPECT_EQ(bindings.created().string_at({"roleRef", "apiGroup"}), "rbac.authorization.k8s.io");
    EXPECT_EQ(bindings.create(), "");
    EXPECT_EQ(bindings.create("subjects: [{kind: Robot, name: r}]"),
              "subjects[0].kind: Unsupported value: \"Robot\": supported values: \"ServiceAccount\", \"User\", \"Group\"");
    EXPECT_NE(bindings.update("roleRef: {name: other}").find("cannot change roleRef"), std::string::npos);
}

class CertificateRequestRules : public testing::Test {
protected:
    static std::string base() {
        const auto key = net::PrivateKey::generate();
        const std::string pem = net::create_certificate_request(key, {.common_name = "system:node:n1", .organizations = {"system:nodes"}});
        return "spec: {signerName: kubernetes.io/kube-apiserver-client-kubelet, usages: [client auth], username: forged, request: " +
               encode_base64(pem) + "}";
    }
    RulesOf rules{"certificates.k8s.io", "v1", "CertificateSigningRequest", base().c_str()};
};

TEST_F(CertificateRequestRules, KnowWhoAsks) { EXPECT_EQ(rules.created().string_at({"spec", "username"}), "jane"); }

TEST_F(CertificateRequestRules, RefuseInKubernetesWords) {
    expect_answers(rules,
                   {
                       {"as it is", "{}", ""},
                       {"no usages", "spec: {usages: null}", "spec.usages: Required value: usages must be provided"},
                       {"a usage twice", "spec: {usages: [client auth, client auth]}", "spec.usages[1]: Duplicate value: \"client auth\""},
                       {"no signer", "spec: {signerName: kubelet}",
                        "spec.signerName: Invalid value: \"kubelet\": must be a fully qualified domain and path of the form "
                        "'example.com/signer-name'"},
                       {"too short", "spec: {expirationSeconds: 599}",
                        "spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 600 seconds (10 minutes)"},
                   });
    EXPECT_NE(rules.create("spec: {request: YWJj}").find("spec.request: Invalid value: "), std::string::npos);
}

TEST_F(CertificateRequestRules, AreDecidedOnce) {
    constexpr const char* Approved = "status: {conditions: [{type: Approved, status: 'True', reason: r}]}";
    EXPECT_EQ(rules.update_status("{}", Approved, "approval"), "");
    EXPECT_NE(rules.updated().find("status")->find("conditions")->as_array().at(0).string_at({"lastTransitionTime"}), "");
    EXPECT_EQ(rules.update_status(Approved, "status: {conditions: []}", "approval"),
              "status.conditions: Forbidden: updates may not remove a condition of type \"Approved\"");
    EXPECT_EQ(
        rules.update_status("{}", "status: {conditions: [{type: Approved, status: 'True'}, {type: Denied, status: 'True'}]}", "approval"),
        "status.conditions[1].type: Invalid value: \"Denied\": Approved and Denied conditions are mutually exclusive");
    EXPECT_EQ(rules.update_status(
                  Approved, "status: {conditions: [{type: Approved, status: 'True', reason: other}, {type: Published, status: 'True'}]}"),
              "");
    const auto& conditions = rules.updated().at_path({"status", "conditions"})->as_array();
    ASSERT_EQ(conditions.size(), 2u);
    EXPECT_EQ(conditions[0].string_at({"reason"}), "r") << "the verdict stays, in its place";
    EXPECT_EQ(conditions[1].string_at({"type"}), "Published");
    EXPECT_EQ(rules.update_status("{}", Approved, "status"), "") << "through /status the verdict is left out";
    EXPECT_FALSE(rules.updated().at_path({"status", "conditions"}));
}

TEST(WebhookRules, FillAndRefuse) {
    RulesOf rules("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration",
                  "webhooks: [{name: a.example.com, sideEffects: None, admissionReviewVersions: [v1], clientConfig: {service: {name: s, "
                  "namespace: default}}, "
                  "rules: [{operations: [CREATE], apiGroups: [''], apiVersions: [v1], resources: [pods]}]}]");
    const Value hook = rules.created().find("webhooks")->as_array()[0];
    EXPECT_EQ(hook.string_at({"failurePolicy"}), "Fail");
    EXPECT_EQ(hook.at_path({"clientConfig", "service", "port"})->as_int(), 443);
    EXPECT_TRUE(hook.find("namespaceSelector"));
    expect_answers(
        rules,
        {
            {"as it is", "{}", ""},
            {"name and client", "webhooks: [{name: short, sideEffects: None, admissionReviewVersions: [v1], clientConfig: {}}]",
             "[webhooks[0].name: Invalid value: \"short\": should be a domain with at least three segments separated by dots, "
             "webhooks[0].clientConfig: Required value: exactly one of url or service is required]"},
            {"side effects", "webhooks: [{name: a.example.com, admissionReviewVersions: [v1], clientConfig: {url: 'https://x/y'}}]",
             "webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun"},
            {"versions",
             "webhooks: [{name: a.example.com, sideEffects: None, admissionReviewVersions: [v9], clientConfig: {url: 'https://x/y'}}]",
             "webhooks[0].admissionReviewVersions: Invalid value: [\"v9\"]: must include at least one of v1, v1beta1"},
            {"plain http",
             "webhooks: [{name: a.example.com, sideEffects: None, admissionReviewVersions: [v1], clientConfig: {url: 'http://x'}, "
             "timeoutSeconds: 31}]",
             "[webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds, "
             "webhooks[0].clientConfig.url: Invalid "
             "value: \"http://x\": 'https' is the only allowed URL scheme; desired format: https://host[/path]]"},
        });
}

// --- Leases and events ---

TEST(LeaseRules, RefuseInKubernetesWords) {
    RulesOf rules("coordination.k8s.io", "v1", "Lease", "spec: {holderIdentity: a, leaseDurationSeconds: 15}");
    EXPECT_EQ(rules.create(), "");
    EXPECT_EQ(rules.create("spec: {leaseDurationSeconds: 0, leaseTransitions: -1}"),
              "[spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0, spec.leaseTransitions: Invalid value: -1: must be "
              "greater than or equal to 0]");
    EXPECT_TRUE(rules.strategy().create_on_update);
    EXPECT_FALSE(rules.strategy().unconditional_update);
}

TEST(EventRules, BelongToTheNamespaceOfWhatTheyAreAbout) {
    RulesOf rules("", "v1", "Event", "involvedObject: {kind: Pod, namespace: default, name: p}");
    EXPECT_EQ(rules.create(), "");
    EXPECT_EQ(rules.create("involvedObject: {namespace: other}"),
              "involvedObject.namespace: Invalid value: \"other\": does not match event.namespace");
    EXPECT_EQ(
        rules.create("{eventTime: '2024-01-01T00:00:00.000000Z', reportingComponent: example.com/c, reportingInstance: i, action: a}"),
        "reason: Required value");
}

TEST(EventConversion, GoesBothWays) {
    const Conversions conversions = kind_conversions();
    const Conversion& conversion = conversions.at("events.k8s.io/v1/Event");
    const Value newer = *schema::parse_yaml("{note: hello, regarding: {name: p}, reportingController: c, deprecatedCount: 3, reason: r}");
    const Value stored = conversion.to_stored(newer);
    EXPECT_EQ(stored.string_at({"message"}), "hello");
    EXPECT_EQ(stored.string_at({"involvedObject", "name"}), "p");
    EXPECT_EQ(stored.string_at({"reportingComponent"}), "c");
    EXPECT_EQ(conversion.from_stored(stored), newer);
}

TEST(AutoscalerConversion, GoesBothWays) {
    const Conversions conversions = kind_conversions();
    const Conversion& conversion = conversions.at("autoscaling/v1/HorizontalPodAutoscaler");
    const Value older = *schema::parse_yaml("{metadata: {name: x}, spec: {maxReplicas: 3, targetCPUUtilizationPercentage: 70}}");
    const Value stored = conversion.to_stored(older);
    EXPECT_EQ(stored.find("spec")->find("metrics")->as_array().at(0).at_path({"resource", "target", "averageUtilization"})->as_int(), 70);
    EXPECT_EQ(conversion.from_stored(stored), older);
}

TEST(AutoscalerConversion, IgnoresAnnotationsThatCannotBeRead) {
    const Conversions conversions = kind_conversions();
    const Conversion& conversion = conversions.at("autoscaling/v1/HorizontalPodAutoscaler");
    const std::string prefix = "autoscaling.alpha.kubernetes.io/";
    for (const char* bad : {"[1]", "1", R"([{"type":5}])", R"({"scaleUp":5})", "[[]]", R"([{"resource":"x"}])", "{", R"([null])"}) {
        for (const char* name : {"metrics", "behavior", "conditions"}) {
            Value older = *schema::parse_json(R"({"metadata":{"annotations":{}},"spec":{"maxReplicas":2},"status":{}})");
            older.ensure_path({"metadata", "annotations"})[prefix + name] = bad;
            const Value stored = conversion.to_stored(older);
            EXPECT_TRUE(schema::from_value<api::autoscaling::v2::HorizontalPodAutoscaler>(stored)) << name << " " << bad;
            EXPECT_FALSE(stored.at_path({"spec", "metrics"}) || stored.at_path({"spec", "behavior"})) << name << " " << bad;
        }
    }
}

// API-06
TEST(ExtensionsConversion, DerivesTheSelectorFromTheLabelsOfTheTemplate) {
    const Conversions conversions = kind_conversions();
    const struct {
        const char *given, *selector;
    } rows[] = {
        {"{spec: {template: {metadata: {labels: {a: b}}}}}", R"({"matchLabels":{"a":"b"}})"},
        {"{spec: {selector: null, template: {metadata: {labels: {a: b}}}}}", R"({"matchLabels":{"a":"b"}})"},
        {"{spec: {selector: {matchLabels: {c: d}}, template: {metadata: {labels: {a: b}}}}}", R"({"matchLabels":{"c":"d"}})"},
        {"{spec: {template: {metadata: {labels: {}}}}}", ""},
        {"{spec: {template: {}}}", ""},
        {"{}", ""},
    };
    for (const char* kind : {"DaemonSet", "Deployment", "ReplicaSet"}) {
        const Conversion& conversion = conversions.at(std::string("extensions/v1beta1/") + kind);
        for (const auto& row : rows) {
            const Value stored = conversion.to_stored(*schema::parse_yaml(row.given));
            const Value* selector = stored.at_path({"spec", "selector"});
            EXPECT_EQ(selector ? schema::to_json(*selector) : "", row.selector) << row.given;
            EXPECT_EQ(conversion.from_stored(stored), stored);
        }
    }
}

// --- The list ---

TEST(KindRegistry, NamesEachStoredKindOnce) {
    SeededRandom random(1);
    ServiceAllocator allocator({.cidrs = {*IpPrefix::parse("10.96.0.0/12")}}, random);
    std::set<std::string> seen;
    for (const Strategy& strategy : kind_strategies({allocator})) {
        const std::string name = std::string(strategy.group) + "/" + std::string(strategy.kind);
        EXPECT_TRUE(seen.insert(name).second) << name;
        const auto kinds = api::registry().kinds();
        EXPECT_TRUE(std::ranges::any_of(kinds, [&](const schema::Kind* kind) {
            return kind->kind == strategy.kind && kind->storage_group == strategy.group && !kind->storage_version.empty();
        })) << name;
    }
}

// --- Metadata ---

TEST(MetadataRules, HoldForEveryKind) {
    RulesOf rules("", "v1", "ConfigMap", "data: {a: b}");
    expect_answers(
        rules,
        {
            {"as it is", "{}", ""},
            {"label key", "metadata: {labels: {'a b': c}}",
             "metadata.labels: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start "
             "and end with an "
             "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
             "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"},
            {"label value", "metadata: {labels: {a: 'b c'}}",
             "metadata.labels: Invalid value: \"b c\": a valid label must be an empty string or consist of alphanumeric characters, '-', "
             "'_' or '.', and "
             "must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
             "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"},
            {"owner", "metadata: {ownerReferences: [{apiVersion: v1, kind: Pod, name: '', uid: u}]}",
             "metadata.ownerReferences.name: Invalid value: \"\": must not be empty"},
            {"two controllers",
             "metadata: {ownerReferences: [{apiVersion: v1, kind: A, name: a, uid: u, controller: true}, {apiVersion: v1, kind: B, name: "
             "b, uid: w, controller: true}]}",
             "metadata.ownerReferences: Invalid value: "
             "{\"apiVersion\":\"v1\",\"kind\":\"B\",\"name\":\"b\",\"uid\":\"w\",\"controller\":true}: Only one "
             "reference can have Controller set to true. Found \"true\" in references for A/a and B/b"},
            {"finalizer", "metadata: {finalizers: [mine]}",
             "metadata.finalizers: Invalid value: \"mine\": name is neither a standard finalizer name nor is it fully qualified"},
            {"config key", "data: {'a b': c}",
             "data[a b]: Invalid value: \"a b\": a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. "
             "'key.name',  or "
             "'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"},
        });
    const std::string large = "metadata: {annotations: {a: " + std::string(256 * 1024, 'x') + "}}";
    EXPECT_EQ(rules.create(large.c_str()), "metadata.annotations: Too long: may not be more than 262144 bytes");
    EXPECT_EQ(rules.update("immutable: true", "data: {a: c}"), "data: Forbidden: field is immutable when `immutable` is set");
}

// --- Priority and fairness ---

TEST(FlowSchemaRules, RefuseInKubernetesWords) {
    RulesOf rules(
        "flowcontrol.apiserver.k8s.io", "v1", "FlowSchema",
        "{metadata: {name: mine}, spec: {priorityLevelConfiguration: {name: low}, rules: [{subjects: [{kind: User, user: {name: a}}], "
        "resourceRules: [{verbs: [get], apiGroups: [''], resources: [pods], namespaces: ['*']}]}]}}");
    expect_answers(
        rules,
        {
            {"as it is", "{}", ""},
            {"too early", "spec: {matchingPrecedence: 1}",
             "spec.matchingPrecedence: Invalid value: 1: only the schema named 'exempt' may have matchingPrecedence 1"},
            {"too late", "spec: {matchingPrecedence: 10001}",
             "spec.matchingPrecedence: Invalid value: 10001: must not be greater than 10000"},
            {"no level", "spec: {priorityLevelConfiguration: {name: ''}}",
             "spec.priorityLevelConfiguration.name: Required value: must reference a priority level"},
            {"an unknown distinguisher", "spec: {distinguisherMethod: {type: ByHost}}",
             "spec.distinguisherMethod.type: Unsupported value: \"ByHost\": supported values: \"ByNamespace\", \"ByUser\""},
            {"nobody", "spec: {rules: [{nonResourceRules: [{verbs: [get], nonResourceURLs: [/a]}]}]}",
             "spec.rules[0].subjects: Required value: subjects must contain at least one value"},
            {"nothing", "spec: {rules: [{subjects: [{kind: Group, group: {name: g}}]}]}",
             "spec.rules[0]: Required value: at least one of resourceRules and nonResourceRules has to be non-empty"},
            {"another member",
             "spec: {rules: [{subjects: [{kind: Group, user: {name: g}}], nonResourceRules: [{verbs: [get], nonResourceURLs: ['*']}]}]}",
             "[spec.rules[0].subjects[0].group: Required value: group is required when subject kind is 'Group', "
             "spec.rules[0].subjects[0].user: Forbidden: user is forbidden when subject kind is not 'User']"},
            {"verbs and paths",
             "spec: {rules: [{subjects: [{kind: User, user: {name: a}}], nonResourceRules: [{verbs: ['*', get], nonResourceURLs: [a*]}]}]}",
             "[spec.rules[0].nonResourceRules[0].verbs: Invalid value: [\"*\",\"get\"]: if '*' is present, must not specify other verbs, "
             "spec.rules[0].nonResourceRules[0].nonResourceURLs[0]: Invalid value: \"a*\": must start with slash]"},
            {"no scope",
             "spec: {rules: [{subjects: [{kind: User, user: {name: a}}], resourceRules: [{verbs: [get], apiGroups: [''], resources: "
             "[pods]}]}]}",
             "spec.rules[0].resourceRules[0].namespaces: Required value: resource rules that are not cluster scoped must supply at least "
             "one "
             "namespace"},
        });
    EXPECT_TRUE(rules.create("metadata: {name: catch-all}").ends_with("spec of 'catch-all' must equal the fixed value"));
    EXPECT_EQ(rules.update_status("{}", "{metadata: {labels: {a: b}}, status: {conditions: [{type: Dangling, status: 'True'}]}}"), "");
    EXPECT_EQ(rules.updated().at_path({"metadata", "labels"}), nullptr);
}

TEST(PriorityLevelConfigurationRules, RefuseInKubernetesWords) {
    RulesOf rules("flowcontrol.apiserver.k8s.io", "v1", "PriorityLevelConfiguration",
                  "{metadata: {name: mine}, spec: {type: Limited, limited: {limitResponse: {type: Queue, queuing: {}}}}}");
    expect_answers(rules, {
                              {"as it is", "{}", ""},
                              {"exempt", "spec: {type: Exempt, limited: null}",
                               "spec.type: Invalid value: \"Exempt\": type must be 'Exempt' if and only if name is 'exempt'"},
                              {"nothing", "spec: {limited: null}", "spec.limited: Required value: must not be empty when type is Limited"},
                              {"shares", "spec: {limited: {nominalConcurrencyShares: -1, lendablePercent: 101, borrowingLimitPercent: -1}}",
                               "[spec.limited.nominalConcurrencyShares: Invalid value: -1: must be a non-negative integer, "
                               "spec.limited.lendablePercent: Invalid value: 101: must be between 0 and 100, inclusive, "
                               "spec.limited.borrowingLimitPercent: Invalid value: -1: if specified, must be a non-negative integer]"},
                              {"queues of one that refuses", "spec: {limited: {limitResponse: {type: Reject}}}",
                               "spec.limited.limitResponse.queuing: Forbidden: must be nil if limited.limitResponse.type is not Limited"},
                              {"a hand that is too large", "spec: {limited: {limitResponse: {queuing: {handSize: 65}}}}",
                               "spec.limited.limitResponse.queuing.handSize: Invalid value: 65: should not be greater than queues (64)"},
                              {"a hand of too many bits", "spec: {limited: {limitResponse: {queuing: {handSize: 11}}}}",
                               "spec.limited.limitResponse.queuing.handSize: Invalid value: 11: required entropy bits of deckSize 64 and "
                               "handSize 11 should not be "
                               "greater than 60"},
                          });
    EXPECT_TRUE(rules.create("metadata: {name: catch-all}").ends_with("spec of 'catch-all' must equal the fixed value"));
    EXPECT_EQ(rules.create("{metadata: {name: exempt}, spec: {type: Exempt, limited: null, exempt: {nominalConcurrencyShares: 7}}}"), "");
}

}  // namespace
}  // namespace porthole::apiserver
