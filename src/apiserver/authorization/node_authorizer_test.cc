#include "apiserver/authorization/node_authorizer.h"

#include "api/certificates_v1beta1.h"
#include "api/storage_v1.h"
#include "apiserver/authorization/bootstrap_policy.h"
#include "apiserver/storage/object_fixture.h"

namespace porthole::apiserver {
namespace {

using namespace api::core::v1;
using namespace api::rbac::v1;

class NodeAuthorizerTest : public ObjectTest {
protected:
    NodeAuthorizerTest() {
        for (auto& role : bootstrap_policy().cluster_roles) cluster_roles_[role.metadata.name] = std::make_shared<ClusterRole>(role);
        put(pod_on("n1"));
        EXPECT_TRUE(graph_.load(*store_));
    }
    /// a/web, which refers to one thing of each sort.
    static Pod pod_on(const std::string& node) {
        Pod pod = named<Pod>("a", "web", "1");
        pod.spec.node_name = node;
        pod.spec.service_account_name = "robot";
        Volume secret, config, claim;
        secret.name = "s";
        secret.secret.emplace().secret_name = "tls";
        config.name = "c";
        config.config_map.emplace().name = "settings";
        claim.name = "d";
        claim.persistent_volume_claim.emplace().claim_name = "data";
        pod.spec.volumes = {secret, config, claim};
        return pod;
    }
    static AuthorizationAttributes ask(const std::string& node, const std::string& verb, const std::string& resource,
                                       const std::string& namespace_, const std::string& name, const std::string& group = "") {
        return {.user = {.name = "system:node:" + node, .groups = {"system:nodes"}},
                .verb = verb,
                .is_resource = true,
                .group = group,
                .version = "v1",
                .resource = resource,
                .namespace_ = namespace_,
                .name = name};
    }
    bool allows(const AuthorizationAttributes& attributes) { return run(authorizer_.authorize(attributes))->allowed(); }

    ObjectMap<Role> roles_;
    ObjectMap<RoleBinding> role_bindings_;
    ObjectMap<ClusterRole> cluster_roles_;
    ObjectMap<ClusterRoleBinding> cluster_role_bindings_;
    RbacAuthorizer rbac_{{roles_, role_bindings_, cluster_roles_, cluster_role_bindings_}};
    NodeGraph graph_;
    ObjectReader reader_{*store_};
    NodeAuthorizer authorizer_{graph_, rbac_, reader_};
};

TEST_F(NodeAuthorizerTest, ReadsOnlyWhatItsPodsReferTo) {
    const struct {
        const char* resource;
        const char* name;
    } things[] = {{"secrets", "tls"}, {"configmaps", "settings"}, {"persistentvolumeclaims", "data"}, {"serviceaccounts", "robot"}};
    for (const auto& thing : things) {
        SCOPED_TRACE(thing.resource);
        EXPECT_TRUE(allows(ask("n1", "get", thing.resource, "a", thing.name)));
        EXPECT_FALSE(allows(ask("n2", "get", thing.resource, "a", thing.name))) << "another node";
        EXPECT_FALSE(allows(ask("n1", "get", thing.resource, "b", thing.name))) << "another namespace";
        EXPECT_FALSE(allows(ask("n1", "get", thing.resource, "a", "other"))) << "another name";
        EXPECT_FALSE(allows(ask("n1", "update", thing.resource, "a", thing.name)));
    }
    EXPECT_FALSE(allows(ask("n1", "list", "secrets", "a", "")));
}

TEST_F(NodeAuthorizerTest, ReadsTheSecretsOfAPodWhereverItNamesThem) {
    const struct {
        const char* name;
        const char* spec;
    } rows[] = {
        {"pull secrets", R"("imagePullSecrets":[{"name":"own"}])"},
        {"variable", R"("containers":[{"env":[{"name":"a","valueFrom":{"secretKeyRef":{"name":"own","key":"k"}}}]}])"},
        {"variables", R"("containers":[{"envFrom":[{"secretRef":{"name":"own"}}]}])"},
        {"variable of an init container",
         R"("initContainers":[{"env":[{"name":"a","valueFrom":{"secretKeyRef":{"name":"own","key":"k"}}}]}])"},
        {"variables of an init container", R"("initContainers":[{"envFrom":[{"secretRef":{"name":"own"}}]}])"},
        {"variable of an ephemeral container",
         R"("ephemeralContainers":[{"env":[{"name":"a","valueFrom":{"secretKeyRef":{"name":"own","key":"k"}}}]}])"},
        {"variables of an ephemeral container", R"("ephemeralContainers":[{"envFrom":[{"secretRef":{"name":"own"}}]}])"},
        {"secret", R"("volumes":[{"secret":{"secretName":"own"}}])"},
        {"projected", R"("volumes":[{"projected":{"sources":[{"downwardAPI":{}},{"secret":{"name":"own"}}]}}])"},
        {"azureFile", R"("volumes":[{"azureFile":{"secretName":"own","shareName":"x"}}])"},
        {"cephfs", R"("volumes":[{"cephfs":{"monitors":[],"secretRef":{"name":"own"}}}])"},
        {"cinder", R"("volumes":[{"cinder":{"volumeID":"x","secretRef":{"name":"own"}}}])"},
        {"csi", R"("volumes":[{"csi":{"driver":"x","nodePublishSecretRef":{"name":"own"}}}])"},
        {"flexVolume", R"("volumes":[{"flexVolume":{"driver":"x","secretRef":{"name":"own"}}}])"},
        {"iscsi", R"("volumes":[{"iscsi":{"targetPortal":"x","iqn":"x","lun":0,"secretRef":{"name":"own"}}}])"},
        {"rbd", R"("volumes":[{"rbd":{"monitors":[],"image":"x","secretRef":{"name":"own"}}}])"},
        {"scaleIO", R"("volumes":[{"scaleIO":{"gateway":"x","system":"x","secretRef":{"name":"own"}}}])"},
        {"storageos", R"("volumes":[{"storageos":{"secretRef":{"name":"own"}}}])"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        const auto pod = schema::decode_json<Pod>(R"({"metadata":{"namespace":"b","name":"user"},"spec":{"nodeName":"n5",)" +
                                                  std::string(row.spec) + "}}");
        ASSERT_TRUE(pod) << pod.error().message;
        put(*pod);
        ASSERT_TRUE(graph_.load(*store_));
        EXPECT_TRUE(allows(ask("n5", "get", "secrets", "b", "own")));
        EXPECT_FALSE(allows(ask("n5", "get", "secrets", "b", "neighbour"))) << "another secret of the namespace";
        EXPECT_FALSE(allows(ask("n5", "get", "secrets", "a", "own"))) << "another namespace";
        EXPECT_FALSE(allows(ask("n1", "get", "secrets", "b", "own"))) << "another node";
        EXPECT_FALSE(allows(ask("n5", "get", "configmaps", "b", "own"))) << "another kind";
        remove<Pod>("b", "user");
        ASSERT_TRUE(graph_.load(*store_));
        EXPECT_FALSE(allows(ask("n5", "get", "secrets", "b", "own"))) << "without the pod";
    }
}

TEST_F(NodeAuthorizerTest, WatchesOneSecretByItsName) {
    AuthorizationAttributes watch = ask("n1", "watch", "secrets", "a", "");
    watch.field_selector = "metadata.name=tls";
    EXPECT_TRUE(allows(watch));
    watch.field_selector = "metadata.name=other";
    EXPECT_FALSE(allows(watch));
}

TEST_F(NodeAuthorizerTest, AsksTokensOfItsPodsAccountsOnly) {
    AuthorizationAttributes token = ask("n1", "create", "serviceaccounts", "a", "robot");
    token.subresource = "token";
    EXPECT_TRUE(allows(token));
    token.name = "other";
    EXPECT_FALSE(allows(token));
}

TEST_F(NodeAuthorizerTest, SeesItsOwnPods) {
    AuthorizationAttributes list = ask("n1", "list", "pods", "", "");
    EXPECT_FALSE(allows(list));
    list.field_selector = "spec.nodeName=n1";
    EXPECT_TRUE(allows(list));
    list.field_selector = "spec.nodeName=n2";
    EXPECT_FALSE(allows(list));
    list.field_selector = R"(spec.nodeName!=x\,spec.nodeName=n1)";
    EXPECT_FALSE(allows(list)) << "an escaped comma does not end a term";
    EXPECT_TRUE(allows(ask("n1", "get", "pods", "a", "web")));
    AuthorizationAttributes get = ask("n2", "get", "pods", "a", "web");
    EXPECT_FALSE(allows(get));
    get.field_selector = "spec.nodeName=n2";
    EXPECT_FALSE(allows(get)) << "a get ignores selectors";
}

TEST_F(NodeAuthorizerTest, ReachesVolumesByTheClaimsOfItsPodsOnly) {
    PersistentVolume volume = named<PersistentVolume>("", "v");
    volume.spec.claim_ref.emplace();
    volume.spec.claim_ref->namespace_ = "a";
    volume.spec.claim_ref->name = "data";
    put(volume);
    put(named<PersistentVolume>("", "unbound"));
    porthole::api::storage::v1::VolumeAttachment attachment = named<porthole::api::storage::v1::VolumeAttachment>("", "at");
    attachment.spec.node_name = "n1";
    put(attachment);
    const auto status = [&](const std::string& node, const std::string& verb, const std::string& name) {
        AuthorizationAttributes attributes = ask(node, verb, "persistentvolumeclaims", "a", name);
        attributes.subresource = "status";
        return allows(attributes);
    };
    EXPECT_TRUE(status("n1", "patch", "data"));
    EXPECT_FALSE(status("n1", "patch", "other"));
    EXPECT_FALSE(status("n2", "update", "data"));
    EXPECT_TRUE(allows(ask("n1", "get", "persistentvolumes", "", "v")));
    EXPECT_FALSE(allows(ask("n2", "get", "persistentvolumes", "", "v")));
    EXPECT_FALSE(allows(ask("n1", "get", "persistentvolumes", "", "unbound")));
    EXPECT_TRUE(allows(ask("n1", "get", "volumeattachments", "", "at", "storage.k8s.io")));
    EXPECT_FALSE(allows(ask("n2", "get", "volumeattachments", "", "at", "storage.k8s.io")));
}

TEST_F(NodeAuthorizerTest, ReachesSecretsOfVolumesThatItMounts) {
    const auto secret = [&](const std::string& node, const std::string& name) {
        EXPECT_TRUE(graph_.load(*store_));
        return allows(ask(node, "get", "secrets", "storage", name));
    };
    PersistentVolume volume = named<PersistentVolume>("", "v");
    auto& csi = volume.spec.csi.emplace();
    csi.driver = "csi.example.com";
    csi.node_stage_secret_ref = SecretReference{.name = "stage", .namespace_ = "storage"};
    csi.controller_publish_secret_ref = SecretReference{.name = "control", .namespace_ = "storage"};
    volume.spec.claim_ref.emplace() = {.namespace_ = "a", .name = "data"};
    put(volume);
    EXPECT_FALSE(secret("n1", "stage")) << "the claim has no volume";
    PersistentVolumeClaim claim = named<PersistentVolumeClaim>("a", "data");
    claim.spec.volume_name = "v";
    put(claim);
    EXPECT_TRUE(secret("n1", "stage"));
    EXPECT_FALSE(secret("n2", "stage")) << "another node";
    EXPECT_FALSE(secret("n1", "control")) << "for the driver's controller";
    EXPECT_FALSE(allows(ask("n1", "update", "secrets", "storage", "stage")));
    volume.spec.claim_ref->uid = "of a claim of that name that is gone";
    put(volume);
    EXPECT_FALSE(secret("n1", "stage"));
    volume.spec.claim_ref->uid = "";
    volume.spec.claim_ref->name = "other";
    put(volume);
    EXPECT_FALSE(secret("n1", "stage")) << "the volume is not the claim's, whatever the claim says";
}

TEST_F(NodeAuthorizerTest, FollowsTheSecretsOfVolumes) {
    Scope scope(loop_);
    graph_.follow(*store_, scope);
    const auto reads = [&] {
        loop_.run_ready();
        return allows(ask("n1", "get", "secrets", "storage", "stage"));
    };
    PersistentVolume volume = named<PersistentVolume>("", "v");
    volume.spec.csi.emplace().node_stage_secret_ref = SecretReference{.name = "stage", .namespace_ = "storage"};
    volume.spec.claim_ref.emplace() = {.namespace_ = "a", .name = "data"};
    PersistentVolumeClaim claim = named<PersistentVolumeClaim>("a", "data");
    claim.spec.volume_name = "v";
    put(claim);
    EXPECT_FALSE(reads()) << "before the volume is known";
    put(volume);
    EXPECT_TRUE(reads());
    put_text(object_key(PersistentVolume::kind(), "", "v"), "{");
    EXPECT_FALSE(reads()) << "what cannot be decoded allows nothing";
    put(volume);
    EXPECT_TRUE(reads());
    remove<PersistentVolumeClaim>("a", "data");
    EXPECT_FALSE(reads());
    put(claim);
    EXPECT_TRUE(reads());
    remove<Pod>("a", "web");
    EXPECT_FALSE(reads());
    put(pod_on("n1"));
    remove<PersistentVolume>("", "v");
    EXPECT_FALSE(reads());
    EXPECT_TRUE(run(scope.close()));
}

TEST_F(NodeAuthorizerTest, AnswersAboutSecretsOfManyVolumesWithoutReadingThem) {
    constexpr int Claims = 1'000;
    Pod pod = pod_on("n1");
    for (int i = 0; i < Claims; ++i) {
        const std::string number = std::to_string(i);
        auto& used = pod.spec.volumes.emplace_back();
        used.name = "v" + number;
        used.persistent_volume_claim.emplace().claim_name = "c" + number;
        PersistentVolumeClaim claim = named<PersistentVolumeClaim>("a", "c" + number);
        claim.spec.volume_name = "v" + number;
        put(claim);
        PersistentVolume volume = named<PersistentVolume>("", "v" + number);
        volume.spec.csi.emplace().node_stage_secret_ref = SecretReference{.name = "s" + number, .namespace_ = "storage"};
        volume.spec.claim_ref.emplace() = {.namespace_ = "a", .name = "c" + number};
        put(volume);
    }
    put(pod);
    ASSERT_TRUE(graph_.load(*store_));
    // Who still read claims or volumes for an answer would find none, as the graph does not follow here.
    for (int i = 0; i < Claims; ++i) {
        remove<PersistentVolumeClaim>("a", "c" + std::to_string(i));
        remove<PersistentVolume>("", "v" + std::to_string(i));
    }
    int allowed = 0;
    for (int i = 0; i < 2 * Claims; ++i) allowed += allows(ask("n1", "get", "secrets", "storage", "s" + std::to_string(i))) ? 1 : 0;
    EXPECT_EQ(allowed, Claims);
}

TEST_F(NodeAuthorizerTest, ReadsTheSecretsOfVolumesInTheNamespaceThatTheyMean) {
    enum Without { OfTheClaim, Nothing };  // what a reference without namespace means
    const struct {
        const char* name;
        const char* source;  ///< N stands for the namespace
        Without without;
    } rows[] = {
        {"azureFile", R"("azureFile":{"secretName":"own","shareName":"x","secretNamespace":N})", OfTheClaim},
        {"cephfs", R"("cephfs":{"monitors":[],"secretRef":{"name":"own","namespace":N}})", OfTheClaim},
        {"cinder", R"("cinder":{"volumeID":"x","secretRef":{"name":"own","namespace":N}})", Nothing},
        {"csi, publish", R"("csi":{"driver":"x","volumeHandle":"x","nodePublishSecretRef":{"name":"own","namespace":N}})", Nothing},
        {"csi, stage", R"("csi":{"driver":"x","volumeHandle":"x","nodeStageSecretRef":{"name":"own","namespace":N}})", Nothing},
        {"csi, expand", R"("csi":{"driver":"x","volumeHandle":"x","nodeExpandSecretRef":{"name":"own","namespace":N}})", Nothing},
        {"flexVolume", R"("flexVolume":{"driver":"x","secretRef":{"name":"own","namespace":N}})", OfTheClaim},
        {"iscsi", R"("iscsi":{"targetPortal":"x","iqn":"x","lun":0,"secretRef":{"name":"own","namespace":N}})", OfTheClaim},
        {"rbd", R"("rbd":{"monitors":[],"image":"x","secretRef":{"name":"own","namespace":N}})", OfTheClaim},
        {"scaleIO", R"("scaleIO":{"gateway":"x","system":"x","secretRef":{"name":"own","namespace":N}})", OfTheClaim},
        {"storageos", R"("storageos":{"secretRef":{"name":"own","namespace":N}})", Nothing},
    };
    PersistentVolumeClaim claim = named<PersistentVolumeClaim>("a", "data");
    claim.spec.volume_name = "v";
    put(claim);
    const auto put_volume = [&](std::string source, const std::string& namespace_) {
        source.replace(source.find(":N") + 1, 1, '"' + namespace_ + '"');
        const auto volume = schema::decode_json<PersistentVolume>(
            R"({"metadata":{"name":"v"},"spec":{"claimRef":{"namespace":"a","name":"data"},)" + source + "}}");
        ASSERT_TRUE(volume) << volume.error().message;
        put(*volume);
        ASSERT_TRUE(graph_.load(*store_));
    };
    const auto reads = [&](const std::string& node, const std::string& namespace_, const std::string& name) {
        return allows(ask(node, "get", "secrets", namespace_, name));
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        put_volume(row.source, "storage");
        EXPECT_TRUE(reads("n1", "storage", "own"));
        EXPECT_FALSE(reads("n1", "storage", "neighbour"));
        EXPECT_FALSE(reads("n1", "a", "own")) << "the claim's namespace";
        EXPECT_FALSE(reads("n2", "storage", "own")) << "another node";
        put_volume(row.source, "");
        EXPECT_EQ(reads("n1", "a", "own"), row.without == OfTheClaim);
        EXPECT_FALSE(reads("n1", "a", "neighbour"));
        EXPECT_FALSE(reads("n1", "storage", "own"));
    }
    for (const char* reference : {"controllerPublishSecretRef", "controllerExpandSecretRef"}) {
        put_volume(R"("csi":{"driver":"x","volumeHandle":"x",")" + std::string(reference) + R"(":{"name":"own","namespace":N}})",
                   "storage");
        EXPECT_FALSE(reads("n1", "storage", "own")) << reference << " is for the driver's controller";
    }
}

TEST_F(NodeAuthorizerTest, FollowsVolumesWhoseDataAreOnIt) {
    PersistentVolume volume = named<PersistentVolume>("", "v");
    volume.metadata.labels["local.porthole.io/node"] = "n1";
    put(volume);
    EXPECT_FALSE(allows(ask("n1", "get", "persistentvolumes", "", "v"))) << "of another driver";
    volume.spec.csi.emplace().driver = "local.porthole.io";
    put(volume);
    for (const char* verb : {"get", "update"}) {
        EXPECT_TRUE(allows(ask("n1", verb, "persistentvolumes", "", "v"))) << verb;
        EXPECT_FALSE(allows(ask("n2", verb, "persistentvolumes", "", "v"))) << verb;
    }
    EXPECT_FALSE(allows(ask("n1", "delete", "persistentvolumes", "", "v")));
    AuthorizationAttributes watch = ask("n1", "watch", "persistentvolumes", "", "");
    const struct {
        const char* selector;
        bool allowed;
    } rows[] = {{"", false},
                {"local.porthole.io/node=n1", true},
                {"local.porthole.io/node=n2", false},
                {"local.porthole.io/node!=n1", false},
                {"local.porthole.io/node in (n1,n2)", false},
                {"local.porthole.io/node", false},
                {"a=b,local.porthole.io/node=n1", true}};
    for (const auto& row : rows) {
        watch.label_selector = row.selector;
        EXPECT_EQ(allows(watch), row.allowed) << row.selector;
    }
}

TEST_F(NodeAuthorizerTest, ReachesResourceClaimsOfItsPodsAndItsOwnSlicesOnly) {
    Pod pod = pod_on("n1");
    pod.metadata.name = "claims";
    pod.spec.resource_claims.emplace_back().resource_claim_name = "gpu";
    graph_.put_pod("a/claims", pod);
    EXPECT_TRUE(allows(ask("n1", "get", "resourceclaims", "a", "gpu", "resource.k8s.io")));
    EXPECT_FALSE(allows(ask("n2", "get", "resourceclaims", "a", "gpu", "resource.k8s.io")));
    EXPECT_FALSE(allows(ask("n1", "get", "resourceclaims", "a", "other", "resource.k8s.io")));
    AuthorizationAttributes slices = ask("n1", "deletecollection", "resourceslices", "", "", "resource.k8s.io");
    EXPECT_FALSE(allows(slices));
    slices.field_selector = "spec.nodeName=n2";
    EXPECT_FALSE(allows(slices));
    slices.field_selector = "spec.nodeName=n1";
    EXPECT_TRUE(allows(slices));
}

TEST_F(NodeAuthorizerTest, AsksForCertificatesAndSeesThoseOfItsPods) {
    const auto allowed = [&](const std::string& node, const std::string& verb, const std::string& name, std::string selector = "",
                             std::string subresource = "") {
        AuthorizationAttributes attributes = ask(node, verb, "podcertificaterequests", "a", name, "certificates.k8s.io");
        attributes.field_selector = std::move(selector);
        attributes.subresource = std::move(subresource);
        return allows(attributes);
    };
    auto request = named<api::certificates::v1beta1::PodCertificateRequest>("a", "r");
    request.spec.node_name = "n1";
    put(request);
    EXPECT_TRUE(allowed("n1", "create", ""));
    EXPECT_TRUE(allowed("n1", "get", "r"));
    EXPECT_FALSE(allowed("n2", "get", "r"));
    EXPECT_FALSE(allowed("n1", "get", "none"));
    EXPECT_TRUE(allowed("n1", "watch", "", "spec.nodeName=n1"));
    EXPECT_FALSE(allowed("n1", "list", "", "spec.nodeName=n2"));
    EXPECT_FALSE(allowed("n1", "list", ""));
    EXPECT_FALSE(allowed("n1", "get", "r", "", "status"));
    for (const char* verb : {"update", "patch", "delete", "deletecollection"})
        EXPECT_FALSE(allowed("n1", verb, "r", "spec.nodeName=n1")) << verb;
}

TEST_F(NodeAuthorizerTest, HoldsItsOwnLease) {
    EXPECT_TRUE(allows(ask("n1", "update", "leases", "kube-node-lease", "n1", "coordination.k8s.io")));
    EXPECT_TRUE(allows(ask("n1", "create", "leases", "kube-node-lease", "", "coordination.k8s.io")));
    EXPECT_FALSE(allows(ask("n1", "update", "leases", "kube-node-lease", "n2", "coordination.k8s.io")));
    EXPECT_FALSE(allows(ask("n1", "update", "leases", "kube-system", "n1", "coordination.k8s.io")));
}

TEST_F(NodeAuthorizerTest, DoesNothingElseThanItsRole) {
    EXPECT_TRUE(allows(ask("n1", "list", "services", "", "")));
    EXPECT_FALSE(allows(ask("n1", "delete", "namespaces", "", "a")));
    AuthorizationAttributes impostor = ask("n1", "get", "secrets", "a", "tls");
    impostor.user.groups = {"system:authenticated"};
    EXPECT_FALSE(allows(impostor)) << "not in system:nodes";
}

TEST_F(NodeAuthorizerTest, FollowsPods) {
    Scope scope(loop_);
    graph_.follow(*store_, scope);
    loop_.run_ready();
    Pod second = pod_on("n1");
    second.metadata.name = "second";
    put(second);
    remove<Pod>("a", "web");
    loop_.run_ready();
    EXPECT_TRUE(allows(ask("n1", "get", "secrets", "a", "tls"))) << "another pod still refers to it";
    put(pod_on("n2"));
    remove<Pod>("a", "second");
    loop_.run_ready();
    EXPECT_FALSE(allows(ask("n1", "get", "secrets", "a", "tls")));
    EXPECT_TRUE(allows(ask("n2", "get", "secrets", "a", "tls")));
    EXPECT_TRUE(run(scope.close()));
}

TEST_F(NodeAuthorizerTest, FindsMirrorPodsAndGeneratedClaimsAmongStoredPods) {
    Pod mirror = pod_on("n3"), claiming = named<Pod>("a", "claiming");
    mirror.metadata.name = "static";
    mirror.metadata.annotations = {{"a", "b"}, {"kubernetes.io/config.mirror", "x"}};
    claiming.metadata.annotations = {{"a", "b"}};
    claiming.spec.node_name = "n4";
    claiming.status.resource_claim_statuses.emplace_back().resource_claim_name = "claiming-gpu-x";
    Pod extended = named<Pod>("a", "extended");
    extended.spec.node_name = "n4";
    extended.status.extended_resource_claim_status.emplace().resource_claim_name = "extended-y";
    put(extended);
    Volume& scratch = claiming.spec.volumes.emplace_back();
    scratch.name = "scratch";
    scratch.ephemeral.emplace();
    put(mirror);
    put(claiming);
    ASSERT_TRUE(graph_.load(*store_));
    EXPECT_TRUE(graph_.holds_pod("n3", "a/static"));
    EXPECT_FALSE(graph_.reaches("n3", "secrets", "a", "tls"));
    EXPECT_TRUE(graph_.reaches("n4", "resourceclaims", "a", "claiming-gpu-x"));
    EXPECT_TRUE(graph_.reaches("n4", "resourceclaims", "a", "extended-y"));
    EXPECT_TRUE(graph_.reaches("n4", "persistentvolumeclaims", "a", "claiming-scratch"));
}

TEST_F(NodeAuthorizerTest, FindsEverySortOfReferenceInStoredPods) {
    Pod pod = named<Pod>("a", "all");
    pod.spec.node_name = "n5";
    pod.spec.service_account_name = "robot";
    pod.spec.image_pull_secrets.emplace_back().name = "registry";
    pod.spec.resource_claims.emplace_back().resource_claim_name = "gpu";
    Container plain;
    plain.name = "plain";
    Container& main = pod.spec.containers.emplace_back(plain);
    main.env.emplace_back().value_from.emplace().secret_key_ref.emplace().name = "key";
    main.env_from.emplace_back().secret_ref.emplace().name = "keys";
    pod.spec.init_containers.emplace_back(plain).env.emplace_back().value_from.emplace().config_map_key_ref.emplace().name = "option";
    pod.spec.ephemeral_containers.emplace_back().env_from.emplace_back().config_map_ref.emplace().name = "options";
    pod.spec.volumes.emplace_back().csi.emplace().node_publish_secret_ref.emplace().name = "driver";
    auto& projected = pod.spec.volumes.emplace_back().projected.emplace();
    projected.sources.emplace_back().secret.emplace().name = "part";
    projected.sources.emplace_back().config_map.emplace().name = "ca";
    put(pod);
    ASSERT_TRUE(graph_.load(*store_));
    const auto reaches_all = [&](std::string_view resource, std::initializer_list<const char*> names) {
        for (const char* name : names) EXPECT_TRUE(graph_.reaches("n5", resource, "a", name)) << name;
    };
    reaches_all("secrets", {"driver", "key", "keys", "part", "registry"});
    reaches_all("configmaps", {"ca", "option", "options"});
    reaches_all("serviceaccounts", {"robot"});
    reaches_all("resourceclaims", {"gpu"});
}

TEST(NodeGraph, MirrorPodsReferToNothing) {
    NodeGraph graph;
    Pod pod = named<Pod>("a", "static-n1");
    pod.spec.node_name = "n1";
    pod.spec.volumes.emplace_back().secret.emplace().secret_name = "tls";
    pod.metadata.annotations["kubernetes.io/config.mirror"] = "x";
    graph.put_pod("a/static-n1", pod);
    EXPECT_FALSE(graph.reaches("n1", "secrets", "a", "tls"));
    EXPECT_TRUE(graph.holds_pod("n1", "a/static-n1"));
}

}  // namespace
}  // namespace porthole::apiserver
