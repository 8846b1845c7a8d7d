#include "long_lists/long_object.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/result.h"
#include "long_lists/completion.h"
#include "schema/yaml/yaml.h"

namespace porthole::long_lists {
namespace {

using schema::Field;
using schema::Form;
using schema::Type;
using schema::Value;

/// What objects need beside the fields that their schema requires, by the name of the kind.
const std::map<std::string_view, const char*> Bases = {
    {"APIService",
     "{metadata: {name: v1.a.example.com}, spec: {group: a.example.com, version: v1, groupPriorityMinimum: 1, versionPriority: 1, "
     "insecureSkipTLSVerify: true, service: {name: a, namespace: default}}}"},
    {"ClusterRoleBinding", "{roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}}"},
    {"RoleBinding", "{roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}}"},
    {"CronJob",
     "{spec: {schedule: '0 * * * *', jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}}}"},
    {"CSINode", "{spec: {drivers: []}}"},
    {"CustomResourceDefinition",
     "{metadata: {name: as.a.example.com}, spec: {group: a.example.com, scope: Namespaced, names: {plural: as, singular: a, kind: A, "
     "listKind: AList}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}"},
    {"DaemonSet",
     "{spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}"},
    {"Deployment",
     "{spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}"},
    {"ReplicaSet",
     "{spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}"},
    {"StatefulSet",
     "{spec: {serviceName: a, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: "
     "i}]}}}}"},
    {"ReplicationController",
     "{spec: {selector: {a: b}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}"},
    {"Job", "{spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}"},
    {"PodTemplate", "{template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}"},
    {"Pod", "{spec: {containers: [{name: c, image: i}]}}"},
    {"Event",
     "{metadata: {namespace: default}, involvedObject: {kind: Pod, namespace: default, name: p}, regarding: {kind: Pod, namespace: "
     "default, name: p}, eventTime: '2024-01-01T00:00:00.000000Z', type: Normal, reason: Tested, action: Test, reportingController: "
     "example.com/c, reportingComponent: example.com/c, reportingInstance: i}"},
    {"FlowSchema", "{spec: {matchingPrecedence: 100, priorityLevelConfiguration: {name: global-default}}}"},
    {"HorizontalPodAutoscaler", "{spec: {maxReplicas: 3, scaleTargetRef: {kind: Deployment, name: a, apiVersion: apps/v1}}}"},
    {"IPAddress", "{metadata: {name: 10.1.2.3}, spec: {parentRef: {resource: services, name: a, namespace: default}}}"},
    {"Ingress", "{spec: {defaultBackend: {service: {name: a, port: {number: 80}}}}}"},
    {"IngressClass", "{spec: {controller: example.com/a}}"},
    {"LimitRange", "{spec: {limits: []}}"},
    {"MutatingAdmissionPolicyBinding", "{spec: {policyName: a}}"},
    {"ValidatingAdmissionPolicyBinding", "{spec: {policyName: a, validationActions: [Audit]}}"},
    {"MutatingAdmissionPolicy",
     "{spec: {reinvocationPolicy: Never, failurePolicy: Fail, matchConstraints: {resourceRules: [{apiGroups: [a.example.com], apiVersions: "
     "[v1], operations: [CREATE], resources: [as]}]}, mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: "
     "'Object{}'}}]}}"},
    {"ValidatingAdmissionPolicy",
     "{spec: {failurePolicy: Fail, matchConstraints: {resourceRules: [{apiGroups: [a.example.com], apiVersions: [v1], operations: "
     "[CREATE], resources: [as]}]}, validations: [{expression: 'true'}]}}"},
    {"PersistentVolume", "{spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /a}}}"},
    {"PersistentVolumeClaim", "{spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}"},
    {"PriorityLevelConfiguration", "{spec: {type: Limited, limited: {nominalConcurrencyShares: 1, limitResponse: {type: Reject}}}}"},
    {"ResourceSlice", "{spec: {driver: a.example.com, nodeName: a, pool: {name: a, generation: 1, resourceSliceCount: 1}}}"},
    {"RuntimeClass", "{handler: a}"},
    {"PriorityClass", "{value: 1}"},
    {"StorageClass", "{provisioner: a.example.com}"},
    {"VolumeAttributesClass", "{driverName: a.example.com, parameters: {a: b}}"},
    {"VolumeAttachment", "{spec: {attacher: a.example.com, nodeName: a, source: {persistentVolumeName: a}}}"},
    {"Service", "{spec: {ports: [{name: first, port: 65535}]}}"},
    {"ServiceCIDR", "{spec: {cidrs: [10.97.0.0/16]}}"},
    {"EndpointSlice", "{addressType: IPv4, endpoints: []}"},
    {"CertificateSigningRequest",
     "{spec: {signerName: a.example.com/a, usages: [client auth], request: "
     "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIbk1JR09BZ0VBTUN3eEtqQW9CZ05WQkFNTUlYTjVjM1JsYlRwelpYSjJhV05sWVdOamIzVnVkRHBrWldaa"
     "GRXeDBPbUV3V1RBVEJnY3Foa2pPUFFJQgotLS0tLUVORCBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0K}}"},
    {"CSIStorageCapacity", "{storageClassName: a}"},
    {"ControllerRevision", "{revision: 1, data: {a: b}}"},
};

/// The same of parts, by the name of their type: which of several members is set, and what belongs together.
const std::map<std::string_view, const char*> Parts = {
    {"Volume", "{emptyDir: {}}"},
    {"Container", "{image: i}"},
    {"EphemeralContainer", "{image: i}"},
    {"EnvVar", "{value: a}"},
    {"EnvFromSource", "{configMapRef: {name: a}}"},
    {"EnvVarSource", "{}"},
    {"NodeSelectorRequirement", "{operator: Exists}"},
    {"LabelSelectorRequirement", "{operator: Exists}"},
    {"FieldSelectorRequirement", "{operator: Exists}"},
    {"Toleration", "{operator: Exists}"},
    {"TopologySpreadConstraint", "{maxSkew: 1, whenUnsatisfiable: DoNotSchedule}"},
    {"PodAffinityTerm", "{topologyKey: zone}"},
    {"WeightedPodAffinityTerm", "{weight: 1, podAffinityTerm: {topologyKey: zone}}"},
    {"PreferredSchedulingTerm", "{weight: 1}"},
    {"HTTPIngressPath", "{pathType: Prefix, backend: {service: {name: a, port: {number: 80}}}}"},
    {"HTTPIngressRuleValue", "{paths: [{path: /, pathType: Prefix, backend: {service: {name: a, port: {number: 80}}}}]}"},
    {"IngressRule", "{http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: a, port: {number: 80}}}}]}}"},
    {"MetricSpec", "{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}"},
    {"HPAScalingPolicy", "{type: Pods, value: 1, periodSeconds: 15}"},
    {"HPAScalingRules", "{policies: [{type: Pods, value: 1, periodSeconds: 15}]}"},
    {"PolicyRule", "{apiGroups: [''], resources: [pods], verbs: [get]}"},
    {"PolicyRulesWithSubjects", "{subjects: [{kind: User, user: {name: a}}], nonResourceRules: [{verbs: [get], nonResourceURLs: [/a]}]}"},
    {"ResourcePolicyRule", "{apiGroups: [''], resources: [pods], verbs: [get], clusterScope: true}"},
    {"NonResourcePolicyRule", "{verbs: [get], nonResourceURLs: [/a]}"},
    {"ValidatingWebhook", "{sideEffects: None, admissionReviewVersions: [v1], clientConfig: {url: 'https://a.example.com/'}}"},
    {"MutatingWebhook", "{sideEffects: None, admissionReviewVersions: [v1], clientConfig: {url: 'https://a.example.com/'}}"},
    {"RuleWithOperations", "{apiGroups: [a.example.com], apiVersions: [v1], operations: [CREATE], resources: [as]}"},
    {"NamedRuleWithOperations", "{apiGroups: [a.example.com], apiVersions: [v1], operations: [CREATE], resources: [as]}"},
    {"LimitRangeItem", "{type: Container}"},
    {"JSONSchemaProps", "{type: object}"},
    {"CustomResourceDefinitionVersion", "{served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}"},
    {"CustomResourceColumnDefinition", "{type: string, jsonPath: .a}"},
    {"ValidationRule", "{rule: 'true'}"},
    {"Endpoint", "{addresses: [10.1.2.3]}"},
    {"EndpointSubset", "{addresses: [{ip: 10.1.2.3}], ports: [{name: first, port: 80}]}"},
    {"VolumeProjection", "{configMap: {name: a}}"},
    {"SecretVolumeSource", "{secretName: a}"},
    {"DownwardAPIVolumeFile", "{fieldRef: {fieldPath: metadata.name}}"},
    {"ObjectMetricSource",
     "{describedObject: {apiVersion: v1, kind: Service, name: a}, metric: {name: m}, target: {type: Value, value: 1}}"},
    {"PodsMetricSource", "{metric: {name: m}, target: {type: AverageValue, averageValue: 1}}"},
    {"ExternalMetricSource", "{metric: {name: m}, target: {type: Value, value: 1}}"},
    {"PodFailurePolicyRule", "{action: Ignore, onPodConditions: [{type: a, status: 'True'}]}"},
    {"PodFailurePolicyOnExitCodesRequirement", "{operator: In}"},
    {"SuccessPolicyRule", "{succeededCount: 1}"},
    {"VolumeDevice", "{}"},
    {"ContainerResizePolicy", "{resourceName: cpu, restartPolicy: NotRequired}"},
    {"ContainerRestartRule", "{action: Restart, exitCodes: {operator: In, values: [1]}}"},
    {"ScopedResourceSelectorRequirement", "{operator: Exists, scopeName: PriorityClass}"},
    {"DeviceRequest", "{exactly: {deviceClassName: a}}"},
    {"DeviceSubRequest", "{deviceClassName: a}"},
    {"ExactDeviceRequest", "{deviceClassName: a}"},
    {"DeviceSelector", "{cel: {expression: 'true'}}"},
    {"DeviceAttribute", "{string: a}"},
    {"DeviceConstraint", "{matchAttribute: a.example.com/a}"},
    {"DeviceClaimConfiguration", "{opaque: {driver: a.example.com, parameters: {a: b}}}"},
    {"DeviceClassConfiguration", "{opaque: {driver: a.example.com, parameters: {a: b}}}"},
    {"DeviceToleration", "{operator: Exists}"},
    {"StatefulSetOrdinals", "{}"},
    {"PersistentVolumeClaimSpec", "{accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}"},
    {"PodResourceClaim", "{resourceClaimName: a}"},
    {"PodTemplateSpec", "{}"},
    {"NetworkPolicyPeer", "{podSelector: {}}"},
    {"NetworkPolicyPort", "{protocol: TCP}"},
    {"CSINodeDriver", "{}"},
    {"Probe", "{httpGet: {port: 80}}"},
    {"LifecycleHandler", "{httpGet: {port: 80}}"},
    {"Mutation", "{patchType: ApplyConfiguration, applyConfiguration: {expression: 'Object{}'}}"},
    {"ISCSIVolumeSource", "{iqn: 'iqn.2024-01.com.example:a', targetPortal: 10.1.2.3, lun: 0}"},
    {"Condition", "{status: 'True', lastTransitionTime: '2024-01-01T00:00:00Z', reason: A, message: a}"},
    {"OwnerReference", "{apiVersion: v1, kind: ConfigMap}"},
    {"ManagedFieldsEntry", "{operation: Update, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {'f:metadata': {}}}"},
    {"PersistentVolumeClaim", "{metadata: {name: t}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}"},
    {"GroupSubject", "{name: a}"},
};

std::string address(std::size_t i) {
    return "10." + std::to_string(i >> 16 & 255) + "." + std::to_string(i >> 8 & 255) + "." + std::to_string(i & 255);
}

/// A text that is valid for most fields of this name, a different one for each `i`.
std::string text_for(const Field& field, std::size_t i) {
    const std::string number = std::to_string(i);
    const std::string_view name = field.name;
    if (const schema::Enumeration* enumeration = field.enumeration(); enumeration && !enumeration->values.empty())
        return std::string(enumeration->values[i % enumeration->values.size()]);
    static const std::map<std::string_view, const char*> Before = {{"mountPath", "/m"},
                                                                   {"devicePath", "/d"},
                                                                   {"path", "p"},
                                                                   {"topologyKey", "example.com/k"},
                                                                   {"finalizers", "example.com/f"},
                                                                   {"nonResourceURLs", "/u"},
                                                                   {"image", "i:"},
                                                                   {"expression", "1 < 2"},
                                                                   {"rule", "1 < 2"},
                                                                   {"messageExpression", "'a"},
                                                                   {"jsonPath", ".a"},
                                                                   {"matchAttribute", "example.com/k"},
                                                                   {"iqn", "iqn.2024-01.com.example:"},
                                                                   {"targetPortal", "10.1.2."},
                                                                   {"subPath", "s"},
                                                                   {"url", "https://a.example.com/"},
                                                                   {"resources", "r"},
                                                                   {"conditionType", "example.com/c"}};
    if (const auto found = Before.find(name); found != Before.end()) {
        std::string made = found->second + number;
        if (name == "messageExpression") made += "'";
        return made;
    }
    if (name == "names" || name == "volumesInUse") return "n" + number;
    if (name == "ip" || name == "podIP" || name == "hostIP" || name == "ips" || name == "addresses" || name == "externalIPs" ||
        name == "portals" || name == "nameservers" || name == "clusterIPs")
        return address(i);
    if (name.ends_with("cidr") || name.ends_with("CIDR") || name.ends_with("cidrs") || name.ends_with("CIDRs") || name == "except" ||
        name.ends_with("Ranges"))
        return address(i) + "/32";
    if (name == "apiVersion") return "v1";
    if (name == "operator") return "Exists";
    if (name == "schedule") return "0 * * * *";
    if (name == "kind") return "ConfigMap";
    if (name == "scopeName") return "PriorityClass";
    if (name == "hosts" || name == "host" || name == "hostnames") return "h" + number + ".example.com";
    return "n" + number;
}

Value single(const Field& field, std::size_t i);

Value minimal(const Type& type, std::size_t i) {
    Value made = Value::object();
    for (const Field& field : type.fields) {
        const bool is_name = field.name == "name" && field.form == Form::String;  // mostly needed where there are several
        if (!field.is(Field::Required) && !is_name) continue;
        if (field.is_single())
            made[field.name] = single(field, i);
        else if (field.is_list())
            made[field.name] = Value::array({single(field, i)});
        else
            made[field.name] = Value::object();
    }
    if (const auto part = Parts.find(type.name); part != Parts.end()) merge(made, *schema::parse_yaml(part->second));
    return made;
}

Value single(const Field& field, std::size_t i) {
    switch (field.form) {
        case Form::Bool:
            return true;
        case Form::Int32:
        case Form::Int64:
        case Form::Uint32:
        case Form::Uint64:
        case Form::Enum:
            return static_cast<std::int64_t>(1 + i % 65535);
        case Form::Double:
            return 0.5 + static_cast<double>(i);
        case Form::Bytes:
            return "YWJj";
        case Form::String:
            return text_for(field, i);
        case Form::Quantity:
            return std::to_string(1 + i);
        case Form::IntOrString:
            return static_cast<std::int64_t>(1 + i % 65535);
        case Form::Time:
            return "2024-01-01T00:00:00Z";
        case Form::MicroTime:
            return "2024-01-01T00:00:00.000000Z";
        case Form::Duration:
            return "1s";
        case Form::Json:
            return "j" + std::to_string(i);
        case Form::Raw:
        case Form::FieldsV1:
            return Value::object({{"f:n" + std::to_string(i), Value::object()}});
        case Form::Struct:
            return minimal(*field.type, i);
        case Form::Nested:
            return field.element->is_map() ? Value::object({{"a", single(*field.element, i)}}) : Value::array({single(*field.element, i)});
    }
    return {};
}

/// Keys of maps whose keys are not free.
std::string key_for(const Field& field, std::size_t i) {
    if (field.name == "hard" || field.name == "used") return "count/n" + std::to_string(i) + ".example.com";
    if (field.form == Form::Quantity) return "example.com/n" + std::to_string(i);
    return "n" + std::to_string(i);
}

/// Where at most one member is set, or one asks for another, what Parts set gives way.
void make_room_for(Value& object, const Type& type, std::string_view member) {
    static const std::set<std::string_view> Unions = {"Volume",        "VolumeProjection",    "EnvVar",     "EnvFromSource",
                                                      "Probe",         "LifecycleHandler",    "MetricSpec", "NetworkPolicyPeer",
                                                      "DeviceRequest", "PodFailurePolicyRule"};
    if (member == "values" && object.find("operator")) object["operator"] = "In";
    if (member == "nonResourceURLs") object.erase("resources");
    if (type.name == "ResourceSliceSpec" && member == "nodeSelector") object.erase("nodeName");
    if (type.name == "MetricSpec" && member != "resource") {
        object["type"] = member == "object"     ? "Object"
                         : member == "pods"     ? "Pods"
                         : member == "external" ? "External"
                                                : "ContainerResource";
        object.erase("resource");
    }
    if (!Unions.contains(type.name)) return;
    for (const char* other : {"emptyDir", "configMap", "value", "configMapRef", "httpGet", "podSelector", "exactly", "onPodConditions"})
        if (other != member) object.erase(other);
}

/// The value that the rest of the place is in: of the field's list or map the last one, which is made if there is none.
Value& within(Value& object, const Field& field) {
    Value& value = object[field.name];
    if (field.is_single()) {
        if (value.is_null()) value = single(field, 0);
        return value;
    }
    if (field.is_list()) {
        if (value.is_null()) value = Value::array();
        if (value.as_array().empty()) value.as_array().push_back(single(field, 0));
        return value.as_array().back();
    }
    if (value.is_null() || value.as_object().empty()) value[key_for(field, 0)] = single(field, 0);
    return value.as_object().begin()->value;
}

void collect(const Type& type, bool templates, Place& before, std::vector<Place>& found, std::map<const Type*, int>& entered) {
    if (entered[&type]++ < 2) {
        for (const Field& field : type.fields) {
            // They are added to pods that are there.
            if (field.name == "ephemeralContainers") continue;
            if (!before.empty() && !templates && field.type && field.type->name == "PodTemplateSpec") continue;
            before.push_back(&field);
            if (!field.is_single()) found.push_back(before);
            if (field.form == Form::Struct) collect(*field.type, templates, before, found, entered);
            before.pop_back();
        }
    }
    --entered[&type];
}

}  // namespace

std::vector<Place> places(const Type& type, bool templates) {
    std::vector<Place> found;
    Place before;
    std::map<const Type*, int> entered;
    collect(type, templates, before, found, entered);
    return found;
}

std::string text_of(const Place& place) {
    std::string text;
    for (const Field* field : place) {
        text += (text.empty() ? "" : ".") + std::string(field->name);
        if (!field->is_single()) text += field->is_list() ? "[]" : "{}";
    }
    return text;
}

LongObject::LongObject(const schema::Kind& kind, std::string name) : tree_(minimal(*kind.type, 0)), kind_(kind) {
    tree_["metadata"] = Value::object({{"name", std::move(name)}});
    if (const auto base = Bases.find(kind.kind); base != Bases.end()) merge(tree_, *schema::parse_yaml(base->second));
    tree_["apiVersion"] = kind_.api_version();
    tree_["kind"] = kind_.kind;
}

void LongObject::add(const Place& place, std::size_t count, bool same) {
    Value* object = &tree_;
    const Type* type = kind_.type;
    for (const Field* step : place) {
        if (type) make_room_for(*object, *type, step->name);
        if (step == place.back()) break;
        object = &within(*object, *step);
        type = step->type;
    }
    const Field& last = *place.back();
    Value& list = (*object)[last.name];
    if (last.is_list()) {
        if (!list.is_array()) list = Value::array();
        for (std::size_t i = list.as_array().size(); i < count; ++i) list.as_array().push_back(single(last, same ? 0 : i));
    } else {
        if (!list.is_object()) list = Value::object();
        for (std::size_t i = 0; i < count; ++i) list[key_for(last, i)] = single(last, same ? 0 : i);
    }
    complete(tree_);
}

}  // namespace porthole::long_lists
