#include "apiserver/admission/plugins.h"

#include "api/networking_v1.h"
#include "api/node_v1.h"
#include "api/scheduling_v1.h"
#include "api/storage_v1.h"
#include "apiserver/admission/admission_fixture.h"
#include "schema/convert.h"

namespace porthole::apiserver {
namespace {

using namespace api::core::v1;
using namespace api::rbac::v1;
using api::networking::v1::Ingress;
using api::networking::v1::IngressClass;
using api::node::v1::RuntimeClass;
using api::scheduling::v1::PriorityClass;
using api::storage::v1::StorageClass;

using Quantities = std::map<std::string, Quantity>;
Quantity amount(const char* text) { return *Quantity::parse(text); }

class Admission : public AdmissionTest {
protected:
    Admission() {
        put(named<Namespace>("", "a", "1"));
        put(named<ServiceAccount>("a", "default", "1"));
    }
    static Pod pod() {
        Pod pod = named<Pod>("a", "web");
        pod.spec.containers.emplace_back().name = "main";
        return pod;
    }
};

/// Refuses all that it is asked about.
class RefusesNodes final : public AdmissionPlugin {
public:
    std::string_view name() const override { return "RefusesNodes"; }
    bool handles(const AdmissionAttributes& attributes) const override { return attributes.is("", "nodes"); }
    Task<> admit(AdmissionAttributes&) override { co_return Error(Reason::Forbidden, "refused by admit"); }
    Task<> validate(const AdmissionAttributes&) override { co_return Error(Reason::Forbidden, "refused by validate"); }
};

TEST_F(Admission, APluginIsAskedOnlyAboutWhatItHandles) {
    AdmissionChain chain;
    chain.add(std::make_unique<RefusesNodes>());
    const auto attributes_of = [&](const schema::Kind& kind) {
        return AdmissionAttributes{.kind = kind, .user = user_, .warnings = warnings_, .audit_annotations = audit_};
    };
    AdmissionAttributes of_pod = attributes_of(Pod::kind()), of_node = attributes_of(Node::kind());
    EXPECT_TRUE(run(chain.admit(of_pod)) && run(chain.validate(of_pod)));
    EXPECT_FALSE(run(chain.admit(of_node)) || run(chain.validate(of_node)));
}

TEST_F(Admission, NothingIsMadeInANamespaceThatIsMissingOrGoing) {
    auto plugin = make_namespace_lifecycle(given_);
    EXPECT_EQ(create(*plugin, pod()), "");
    Pod lost = pod();
    lost.metadata.namespace_ = "b";
    EXPECT_EQ(create(*plugin, lost), "namespaces \"b\" not found");
    Namespace going = named<Namespace>("", "b", "2");
    going.metadata.deletion_timestamp = Timestamp::from_seconds(1);
    put(going);
    EXPECT_EQ(create(*plugin, lost),
              "pods \"web\" is forbidden: unable to create new content in namespace b because it is being terminated");
    EXPECT_EQ(error_.details->causes.at(0).type, "NamespaceTerminating");
    EXPECT_EQ(update(*plugin, lost, lost), "") << "changes go on";
}

TEST_F(Admission, TheSystemsNamespacesStay) {
    auto plugin = make_namespace_lifecycle(given_);
    EXPECT_EQ(remove_object(*plugin, named<Namespace>("", "kube-system")),
              "namespaces \"kube-system\" is forbidden: this namespace may not be deleted");
    EXPECT_EQ(remove_object(*plugin, named<Namespace>("", "a")), "");
}

TEST_F(Admission, APodMountsTheTokenOfItsAccount) {
    auto plugin = make_service_account(given_);
    Pod admitted = pod();
    ASSERT_EQ(create(*plugin, admitted), "");
    EXPECT_EQ(admitted.spec.service_account_name, "default");
    ASSERT_EQ(admitted.spec.volumes.size(), 1u);
    EXPECT_TRUE(admitted.spec.volumes[0].name.starts_with("kube-api-access-"));
    ASSERT_EQ(admitted.spec.volumes[0].projected->sources.size(), 3u);
    EXPECT_EQ(admitted.spec.containers[0].volume_mounts.at(0).mount_path, "/var/run/secrets/kubernetes.io/serviceaccount");
    EXPECT_TRUE(admitted.spec.containers[0].volume_mounts[0].read_only);
}

TEST_F(Admission, ATokenIsNotMountedWhereItIsUnwanted) {
    auto plugin = make_service_account(given_);
    Pod refusing = pod();
    refusing.spec.automount_service_account_token = false;
    ASSERT_EQ(create(*plugin, refusing), "");
    EXPECT_TRUE(refusing.spec.volumes.empty());

    Pod own = pod();
    own.spec.containers[0].volume_mounts.push_back({.name = "mine", .mount_path = "/var/run/secrets/kubernetes.io/serviceaccount"});
    ASSERT_EQ(create(*plugin, own), "");
    EXPECT_TRUE(own.spec.volumes.empty());

    Pod stranger = pod();
    stranger.spec.service_account_name = "nobody";
    EXPECT_EQ(create(*plugin, stranger),
              "pods \"web\" is forbidden: error looking up service account a/nobody: serviceaccount \"nobody\" not found");
}

TEST_F(Admission, PriorityComesFromItsClass) {
    PriorityClass high = named<PriorityClass>("", "high");
    high.value = 1000;
    high.preemption_policy = "Never";
    put(high);
    auto plugin = make_priority(given_);

    Pod plain = pod();
    ASSERT_EQ(create(*plugin, plain), "");
    EXPECT_EQ(plain.spec.priority, 0);
    EXPECT_EQ(plain.spec.preemption_policy, "PreemptLowerPriority");

    Pod important = pod();
    important.spec.priority_class_name = "high";
    ASSERT_EQ(create(*plugin, important), "");
    EXPECT_EQ(important.spec.priority, 1000);
    EXPECT_EQ(important.spec.preemption_policy, "Never");

    important.spec.priority = 5;
    EXPECT_EQ(create(*plugin, important),
              "pods \"web\" is forbidden: the integer value of priority (5) must not be provided in pod spec; priority admission "
              "controller computed 1000 from the given PriorityClass name");
    Pod lost = pod();
    lost.spec.priority_class_name = "none";
    EXPECT_EQ(create(*plugin, lost), "pods \"web\" is forbidden: no PriorityClass with name none was found");
}

TEST_F(Admission, OnlyOnePriorityClassIsTheDefault) {
    PriorityClass first = named<PriorityClass>("", "first");
    first.global_default = true;
    first.value = 7;
    put(first);
    auto plugin = make_priority(given_);
    PriorityClass second = first;
    second.metadata.name = "second";
    EXPECT_EQ(create(*plugin, second),
              "priorityclasses.scheduling.k8s.io \"second\" is forbidden: PriorityClass first is already marked as default. Only one "
              "default can exist");
    EXPECT_EQ(update(*plugin, first, first), "");
    Pod plain = pod();
    ASSERT_EQ(create(*plugin, plain), "");
    EXPECT_EQ(plain.spec.priority, 7);
    EXPECT_EQ(plain.spec.priority_class_name, "first");
}

TEST_F(Admission, PodsOutliveTheLossOfTheirNodeByFiveMinutes) {
    auto plugin = make_default_toleration_seconds(given_);
    Pod admitted = pod();
    admitted.spec.tolerations = {
        {.key = "node.kubernetes.io/not-ready", .operator_ = "Exists", .effect = "NoExecute", .toleration_seconds = 5}};
    ASSERT_EQ(create(*plugin, admitted), "");
    ASSERT_EQ(admitted.spec.tolerations.size(), 2u);
    EXPECT_EQ(admitted.spec.tolerations[0].toleration_seconds, 5);
    EXPECT_EQ(admitted.spec.tolerations[1].key, "node.kubernetes.io/unreachable");
    EXPECT_EQ(admitted.spec.tolerations[1].toleration_seconds, 300);
}

TEST_F(Admission, LimitRangesFillAndBoundContainers) {
    LimitRange range = named<LimitRange>("a", "limits");
    LimitRangeItem& item = range.spec.limits.emplace_back();
    item.type = "Container";
    item.default_ = Quantities{{"cpu", amount("500m")}};
    item.default_request = Quantities{{"cpu", amount("100m")}};
    item.max = Quantities{{"cpu", amount("1")}};
    put(range);
    auto plugin = make_limit_ranger(given_);

    Pod plain = pod();
    ASSERT_EQ(create(*plugin, plain), "");
    EXPECT_EQ(plain.spec.containers[0].resources.requests["cpu"].to_string(), "100m");
    EXPECT_EQ(plain.spec.containers[0].resources.limits["cpu"].to_string(), "500m");
    EXPECT_EQ(plain.metadata.annotations["kubernetes.io/limit-ranger"],
              "LimitRanger plugin set: cpu request for container main; cpu limit for container main");

    Pod greedy = pod();
    greedy.spec.containers[0].resources.limits = {{"cpu", amount("2")}};
    EXPECT_EQ(create(*plugin, greedy), "pods \"web\" is forbidden: maximum cpu usage per Container is 1, but limit is 2");
}

TEST_F(Admission, LimitRangesBoundWhatAPodNeedsAsAWhole) {
    LimitRange range = named<LimitRange>("a", "limits");
    LimitRangeItem& item = range.spec.limits.emplace_back();
    item.type = "Pod";
    item.max = Quantities{{"cpu", amount("1")}};
    put(range);
    auto plugin = make_limit_ranger(given_);
    const auto limited = [&](const char* cpu) {
        Container container;
        container.name = cpu;
        container.resources.requests = container.resources.limits = {{"cpu", amount(cpu)}};
        return container;
    };

    Pod with_sidecar = pod();
    with_sidecar.spec.containers = {limited("600m")};
    with_sidecar.spec.init_containers = {limited("500m")};
    ASSERT_EQ(create(*plugin, with_sidecar), "") << "an init container ends before the containers start";
    with_sidecar.spec.init_containers[0].restart_policy = "Always";
    EXPECT_EQ(create(*plugin, with_sidecar), "pods \"web\" is forbidden: maximum cpu usage per Pod is 1, but limit is 1100m");

    Pod small = pod(), large = pod();
    small.spec.containers = {limited("1")};
    large.spec.containers = {limited("2")};
    EXPECT_EQ(update(*plugin, small, large, "resize"), "pods \"web\" is forbidden: maximum cpu usage per Pod is 1, but limit is 2");

    Pod with_own = pod();
    with_own.spec.containers = {limited("2")};
    with_own.spec.resources.emplace().limits = {{"cpu", amount("1")}};
    with_own.spec.resources->requests = {{"cpu", amount("1")}};
    with_own.spec.overhead = {{"cpu", amount("1")}};
    EXPECT_EQ(create(*plugin, with_own), "") << "what the pod states counts, without overhead";
}

TEST_F(Admission, ClaimsGrowOnlyWhereTheirClassSaysSo) {
    StorageClass storage_class = named<StorageClass>("", "growing");
    storage_class.allow_volume_expansion = true;
    put(storage_class);
    put(named<StorageClass>("", "fixed"));
    auto plugin = make_persistent_volume_claim_resize(given_);
    PersistentVolumeClaim before = named<PersistentVolumeClaim>("a", "data");
    before.spec.storage_class_name = "growing";
    before.spec.resources.requests["storage"] = amount("1Gi");
    PersistentVolumeClaim after = before;
    after.spec.resources.requests["storage"] = amount("2Gi");
    EXPECT_EQ(update(*plugin, before, after),
              "persistentvolumeclaims \"data\" is forbidden: Only bound persistent volume claims can be expanded");
    before.status.phase = after.status.phase = "Bound";
    EXPECT_EQ(update(*plugin, before, after), "");
    for (const char* name : {"fixed", "missing", ""}) {
        before.spec.storage_class_name = after.spec.storage_class_name = name;
        EXPECT_EQ(update(*plugin, before, after),
                  "persistentvolumeclaims \"data\" is forbidden: only dynamically provisioned pvc can be resized and the storageclass that "
                  "provisions the pvc must support resize")
            << name;
        EXPECT_EQ(update(*plugin, after, after), "") << name;
    }
}

TEST_F(Admission, ClaimsAndIngressesGetTheDefaultClass) {
    for (const char* name : {"old", "new"}) {
        StorageClass one = named<StorageClass>("", name);
        one.metadata.annotations["storageclass.kubernetes.io/is-default-class"] = "true";
        one.metadata.creation_timestamp = Timestamp::from_seconds(std::string(name) == "new" ? 2 : 1);
        put(one);
    }
    auto storage = make_default_storage_class(given_);
    PersistentVolumeClaim claim = named<PersistentVolumeClaim>("a", "data");
    ASSERT_EQ(create(*storage, claim), "");
    EXPECT_EQ(claim.spec.storage_class_name, "new");
    PersistentVolumeClaim manual = named<PersistentVolumeClaim>("a", "data");
    manual.spec.storage_class_name = "";
    ASSERT_EQ(create(*storage, manual), "");
    EXPECT_EQ(manual.spec.storage_class_name, "");

    auto ingress_class = make_default_ingress_class(given_);
    IngressClass marked = named<IngressClass>("", "nginx");
    marked.metadata.annotations["ingressclass.kubernetes.io/is-default-class"] = "true";
    put(marked);
    Ingress ingress = named<Ingress>("a", "site");
    ASSERT_EQ(create(*ingress_class, ingress), "");
    EXPECT_EQ(ingress.spec.ingress_class_name, "nginx");
    marked.metadata.name = "other";
    put(marked);
    Ingress second = named<Ingress>("a", "site");
    EXPECT_EQ(create(*ingress_class, second),
              "ingresses.networking.k8s.io \"site\" is forbidden: 2 default IngressClasses were found, only 1 allowed");
}

TEST_F(Admission, StorageIsProtectedWhileInUse) {
    auto plugin = make_storage_object_in_use_protection(given_);
    PersistentVolumeClaim claim = named<PersistentVolumeClaim>("a", "data");
    ASSERT_EQ(create(*plugin, claim), "");
    EXPECT_EQ(claim.metadata.finalizers, std::vector<std::string>{"kubernetes.io/pvc-protection"});
    api::storage::v1::VolumeAttributesClass attributes = named<api::storage::v1::VolumeAttributesClass>("", "gold");
    ASSERT_EQ(create(*plugin, attributes), "");
    EXPECT_EQ(attributes.metadata.finalizers, std::vector<std::string>{"kubernetes.io/vac-protection"});
}

TEST_F(Admission, NewNodesAreTaintedOnce) {
    auto plugin = make_taint_nodes_by_condition(given_);
    Node node = named<Node>("", "n1");
    ASSERT_EQ(create(*plugin, node), "");
    ASSERT_EQ(create(*plugin, node), "");
    ASSERT_EQ(node.spec.taints.size(), 1u);
    EXPECT_EQ(node.spec.taints[0].key, "node.kubernetes.io/not-ready");
}

TEST_F(Admission, ARuntimeClassBringsOverheadAndPlace) {
    RuntimeClass slow = named<RuntimeClass>("", "wine");
    slow.overhead.emplace().pod_fixed = {{"memory", amount("64Mi")}};
    slow.scheduling.emplace().node_selector = {{"kubernetes.io/os", "windows"}};
    put(slow);
    auto plugin = make_runtime_class(given_);
    Pod admitted = pod();
    admitted.spec.runtime_class_name = "wine";
    ASSERT_EQ(create(*plugin, admitted), "");
    EXPECT_EQ(admitted.spec.overhead["memory"].to_string(), "64Mi");
    EXPECT_EQ(admitted.spec.node_selector["kubernetes.io/os"], "windows");

    Pod elsewhere = pod();
    elsewhere.spec.runtime_class_name = "wine";
    elsewhere.spec.node_selector["kubernetes.io/os"] = "linux";
    EXPECT_EQ(create(*plugin, elsewhere),
              "pods \"web\" is forbidden: conflict: runtimeClass.scheduling.nodeSelector[kubernetes.io/os] = windows, but "
              "pod.spec.nodeSelector[kubernetes.io/os] = linux");
    Pod lost = pod();
    lost.spec.runtime_class_name = "none";
    EXPECT_EQ(create(*plugin, lost), "pods \"web\" is forbidden: pod rejected: RuntimeClass \"none\" not found");
}

/// Roles and bindings in memory.
class Escalation : public AdmissionTest {
protected:
    Escalation() {
        auto editor = std::make_shared<ClusterRole>(named<ClusterRole>("", "editor"));
        editor->rules = {{.verbs = {"*"}, .api_groups = {""}, .resources = {"pods"}},
                         {.verbs = {"create"}, .api_groups = {"rbac.authorization.k8s.io"}, .resources = {"roles"}}};
        cluster_roles_["editor"] = editor;
        auto binding = std::make_shared<RoleBinding>(named<RoleBinding>("a", "jane"));
        binding->role_ref = {.api_group = "rbac.authorization.k8s.io", .kind = "ClusterRole", .name = "editor"};
        binding->subjects = {{.kind = "User", .name = "jane"}};
        role_bindings_["a/jane"] = binding;
        user_ = {.name = "jane", .groups = {"system:authenticated"}};
    }
    static Role role_over(const char* resource) {
        Role role = named<Role>("a", "mine");
        role.rules = {{.verbs = {"get"}, .api_groups = {""}, .resources = {resource}}};
        return role;
    }
    AdmissionPluginPtr plugin_ = make_rbac_escalation(given_);
};

TEST_F(Escalation, NobodyGrantsMoreThanHeHolds) {
    EXPECT_EQ(create(*plugin_, role_over("pods")), "");
    EXPECT_EQ(create(*plugin_, role_over("secrets")),
              "roles.rbac.authorization.k8s.io \"mine\" is forbidden: user \"jane\" (groups=[\"system:authenticated\"]) is attempting "
              "to grant RBAC permissions not currently held");
    user_.groups = {"system:masters"};
    EXPECT_EQ(create(*plugin_, role_over("secrets")), "");
}

TEST_F(Escalation, TheVerbEscalateAllowsIt) {
    auto more = std::make_shared<ClusterRole>(*cluster_roles_["editor"]);
    more->rules.push_back({.verbs = {"escalate"}, .api_groups = {"rbac.authorization.k8s.io"}, .resources = {"roles"}});
    cluster_roles_["editor"] = more;
    EXPECT_EQ(create(*plugin_, role_over("secrets")), "");
}

TEST_F(Escalation, BindingNeedsTheRolesRules) {
    RoleBinding binding = named<RoleBinding>("a", "friend");
    binding.role_ref = {.api_group = "rbac.authorization.k8s.io", .kind = "ClusterRole", .name = "editor"};
    put(*cluster_roles_["editor"]);
    EXPECT_EQ(create(*plugin_, binding), "");
    auto admin = std::make_shared<ClusterRole>(named<ClusterRole>("", "admin"));
    admin->rules = {{.verbs = {"*"}, .api_groups = {"*"}, .resources = {"*"}}};
    cluster_roles_["admin"] = admin;
    put(*admin);
    binding.role_ref.name = "admin";
    EXPECT_NE(create(*plugin_, binding), "");
}

TEST_F(Escalation, ARoleThatIsMissingCannotBeBoundInAdvance) {
    ClusterRoleBinding binding = named<ClusterRoleBinding>("", "later");
    binding.role_ref = {.api_group = "rbac.authorization.k8s.io", .kind = "ClusterRole", .name = "not-there"};
    EXPECT_EQ(create(*plugin_, binding), "clusterroles.rbac.authorization.k8s.io \"not-there\" not found");
    RoleBinding in_namespace = named<RoleBinding>("a", "later");
    in_namespace.role_ref = {.api_group = "rbac.authorization.k8s.io", .kind = "Role", .name = "not-there"};
    EXPECT_EQ(create(*plugin_, in_namespace), "roles.rbac.authorization.k8s.io \"not-there\" not found");
}

TEST_F(Escalation, AnAggregationRuleNeedsFullAuthority) {
    ClusterRole role = named<ClusterRole>("", "x");
    ClusterRole aggregating = role;
    aggregating.aggregation_rule.emplace().cluster_role_selectors.emplace_back();
    const char* refusal =
        "clusterroles.rbac.authorization.k8s.io \"x\" is forbidden: must have cluster-admin privileges to use the aggregationRule";
    EXPECT_EQ(create(*plugin_, role), "") << "no rules are covered";
    EXPECT_EQ(create(*plugin_, aggregating), refusal);
    EXPECT_EQ(update(*plugin_, role, aggregating), refusal);
    EXPECT_EQ(update(*plugin_, aggregating, role), refusal) << "without it the rules could not be tightened any more";
    ClusterRole going = aggregating;
    going.metadata.finalizers = {"x"};
    EXPECT_EQ(update(*plugin_, going, aggregating), "") << "what the garbage collector changes grants nothing";

    auto everything = std::make_shared<ClusterRole>(*cluster_roles_["editor"]);
    everything->rules = {{.verbs = {"*"}, .api_groups = {"*"}, .resources = {"*"}}, {.verbs = {"*"}, .non_resource_urls = {"*"}}};
    cluster_roles_["editor"] = everything;
    auto binding = std::make_shared<ClusterRoleBinding>(named<ClusterRoleBinding>("", "jane"));
    binding->role_ref = {.api_group = "rbac.authorization.k8s.io", .kind = "ClusterRole", .name = "editor"};
    binding->subjects = {{.kind = "User", .name = "jane"}};
    cluster_role_bindings_["jane"] = binding;
    EXPECT_EQ(create(*plugin_, aggregating), "");
}

TEST_F(Escalation, BindIsAskedOfTheSortOfRoleThatIsBound) {
    auto admin = std::make_shared<ClusterRole>(named<ClusterRole>("", "admin"));
    admin->rules = {{.verbs = {"*"}, .api_groups = {"*"}, .resources = {"*"}}};
    put(*admin);
    RoleBinding binding = named<RoleBinding>("a", "friend");
    binding.role_ref = {.api_group = "rbac.authorization.k8s.io", .kind = "ClusterRole", .name = "admin"};
    const auto may_bind = [&](const char* resource, std::vector<std::string> names) {
        auto more = std::make_shared<ClusterRole>(*cluster_roles_["editor"]);
        more->rules.push_back(
            {.verbs = {"bind"}, .api_groups = {"rbac.authorization.k8s.io"}, .resources = {resource}, .resource_names = std::move(names)});
        cluster_roles_["editor"] = more;
    };
    may_bind("roles", {});
    EXPECT_NE(create(*plugin_, binding), "") << "a right over roles of the namespace is none over cluster roles";
    may_bind("clusterroles", {"edit"});
    EXPECT_NE(create(*plugin_, binding), "");
    may_bind("clusterroles", {"admin"});
    EXPECT_EQ(create(*plugin_, binding), "");
}

/// Refuses, and counts how often it is asked.
struct CountingAuthorizer final : Authorizer {
    Task<Decision> authorize(const AuthorizationAttributes&) override {
        ++asked;
        co_return Decision::no_opinion();
    }
    int asked = 0;
};

TEST_F(AdmissionTest, WebhooksOfOneRequestShareWhatTheAuthorizerSays) {
    using namespace api::admissionregistration::v1;
    CountingAuthorizer authorizer;
    ObjectMap<ValidatingWebhookConfiguration> configurations;
    auto configuration = std::make_shared<ValidatingWebhookConfiguration>(named<ValidatingWebhookConfiguration>("", "c"));
    RuleWithOperations every;
    every.operations = every.api_groups = every.api_versions = every.resources = {"*"};
    ValidatingWebhook webhook;
    webhook.rules = {every};
    webhook.match_conditions = {{.name = "may", .expression = "authorizer.path('/a').check('get').allowed()"}};
    configuration->webhooks.assign(5, webhook);
    configurations["c"] = configuration;
    const AdmissionDependencies given{.reader = reader_,
                                      .rbac = rbac_,
                                      .authorizer = authorizer,
                                      .random = random_,
                                      .loop = loop_,
                                      .systems = {},
                                      .webhooks = {.validating = &configurations}};
    const auto plugin = make_validating_admission_webhook(given);
    EXPECT_EQ(create(*plugin, named<api::core::v1::ConfigMap>("a", "m")), "");
    EXPECT_EQ(authorizer.asked, 1);
}

TEST_F(AdmissionTest, BindingsAndStatusesOfPodsPassWithoutTheirManagedFieldsBeingRead) {
    constexpr const char* Fields = R"([{"manager":"a","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{}}])";
    const auto pod = named<api::core::v1::Pod>("a", "p");
    const ApiObject old(pod.kind(), schema::to_value(pod), Fields);
    const auto chain = make_admission_chain(given_, {});
    ASSERT_TRUE(chain);
    for (const char* subresource : {"binding", "status"}) {
        ApiObject object(old);
        AdmissionAttributes attributes{.operation = AdmissionOperation::Update,
                                       .kind = pod.kind(),
                                       .subresource = subresource,
                                       .namespace_ = "a",
                                       .name = "p",
                                       .user = user_,
                                       .object = &object,
                                       .old_object = &old,
                                       .warnings = warnings_,
                                       .audit_annotations = audit_};
        ASSERT_TRUE(run(chain->admit(attributes)));
        ASSERT_TRUE(run(chain->validate(attributes)));
        EXPECT_EQ(object.managed_fields_text(), Fields) << subresource;
        EXPECT_EQ(old.managed_fields_text(), Fields) << subresource;
    }
}

struct RefusingPlugin final : AdmissionPlugin {
    std::string_view name() const override { return "Refusing"; }
    Task<> admit(AdmissionAttributes& attributes) override { co_return admission_forbidden(attributes, "no"); }
};

TEST_F(AdmissionTest, ARefusalNamesWhatThereIsOfAName) {
    RefusingPlugin plugin;
    auto map = named<api::core::v1::ConfigMap>("a", "m");
    EXPECT_EQ(create(plugin, map), "configmaps \"m\" is forbidden: no");
    map.metadata.name = "";
    EXPECT_EQ(create(plugin, map), "configmaps \"Unknown\" is forbidden: no");
    map.metadata.generate_name = "made-";
    EXPECT_EQ(create(plugin, map), "configmaps \"made-\" is forbidden: no");
    EXPECT_EQ(error_.details->name, "made-");
}

}  // namespace
}  // namespace porthole::apiserver
