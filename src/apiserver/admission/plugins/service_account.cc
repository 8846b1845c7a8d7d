#include <algorithm>

#include "api/core_v1.h"
#include "apiserver/admission/plugins.h"
#include "apiserver/admission/plugins/pod_references.h"

namespace porthole::apiserver {
namespace {

using namespace api::core::v1;

constexpr const char* MountPath = "/var/run/secrets/kubernetes.io/serviceaccount";
/// An hour and a little: the odd seconds tell the API server that this token may be extended for old clients.
constexpr std::int64_t TokenSeconds = 3607;

ProjectedVolumeSource token_sources() {
    ProjectedVolumeSource projected;
    projected.default_mode = 0644;
    projected.sources.emplace_back().service_account_token =
        ServiceAccountTokenProjection{.expiration_seconds = TokenSeconds, .path = "token"};
    ConfigMapProjection roots;
    roots.name = "kube-root-ca.crt";
    roots.items = {{.key = "ca.crt", .path = "ca.crt"}};
    projected.sources.emplace_back().config_map = std::move(roots);
    DownwardAPIProjection downward;
    DownwardAPIVolumeFile file;
    file.path = "namespace";
    file.field_ref = ObjectFieldSelector{.api_version = "v1", .field_path = "metadata.namespace"};
    downward.items.push_back(std::move(file));
    projected.sources.emplace_back().downward_api = std::move(downward);
    return projected;
}

bool mounts_token(const Container& container) {
    return std::ranges::any_of(container.volume_mounts, [](const VolumeMount& mount) { return mount.mount_path == MountPath; });
}

class ServiceAccountAdmission final : public AdmissionPlugin {
public:
    ServiceAccountAdmission(const ObjectReader& reader, Random& random) : reader_(reader), random_(random) {}
    std::string_view name() const override { return "ServiceAccount"; }
    bool handles(const AdmissionAttributes& attributes) const override { return attributes.is("", "pods"); }

    Task<> admit(AdmissionAttributes& attributes) override {
        if (!attributes.subresource.empty() || attributes.operation != AdmissionOperation::Create) co_return {};
        if (is_mirror(attributes)) co_return {};
        Pod& pod = attributes.object->edit<Pod>();
        if (pod.spec.service_account_name.empty()) pod.spec.service_account_name = "default";
        pod.spec.service_account = pod.spec.service_account_name;
        const std::string& account_name = pod.spec.service_account_name;
        CO_TRY(const auto account, reader_.find<ServiceAccount>(attributes.namespace_, account_name));
        if (!account) {
            co_return admission_forbidden(attributes, "error looking up service account " + attributes.namespace_ + "/" + account_name +
                                                          ": serviceaccount \"" + account_name + "\" not found");
        }
        if (pod.spec.image_pull_secrets.empty()) pod.spec.image_pull_secrets = account->image_pull_secrets;
        if (pod.spec.automount_service_account_token.value_or(account->automount_service_account_token.value_or(true))) {
            mount_token(pod.spec);
        }
        co_return {};
    }

    /// A mirror pod shows what a node runs by itself. One that needed objects of the API would get its node the right to read them.
    Task<> validate(const AdmissionAttributes& attributes) override {
        const bool new_pod = attributes.subresource.empty() && attributes.operation == AdmissionOperation::Create;
        if (!new_pod || !is_mirror(attributes)) co_return {};
        const std::string reference = api_reference_of(attributes.object->view<Pod>());
        if (!reference.empty()) co_return admission_forbidden(attributes, "a mirror pod may not reference " + reference);
        co_return {};
    }

private:
    static bool is_mirror(const AdmissionAttributes& attributes) {
        return attributes.object->view<Pod>().metadata.annotations.contains(MirrorPodAnnotation);
    }

    void mount_token(PodSpec& spec) {
        const auto needs = [](const Container& container) { return !mounts_token(container); };
        if (std::ranges::none_of(spec.containers, needs) && std::ranges::none_of(spec.init_containers, needs)) return;
        auto volume = std::ranges::find_if(spec.volumes, [](const Volume& one) { return one.name.starts_with("kube-api-access-"); });
        if (volume == spec.volumes.end()) {
            volume = spec.volumes.insert(spec.volumes.end(), Volume());
            volume->name = "kube-api-access-" + random_.pick(5, "bcdfghjklmnpqrstvwxz2456789");
            volume->projected = token_sources();
        }
        for (auto* containers : {&spec.containers, &spec.init_containers}) {
            for (Container& container : *containers) {
                if (mounts_token(container)) continue;
                container.volume_mounts.push_back({.name = volume->name, .read_only = true, .mount_path = MountPath});
            }
        }
    }
    const ObjectReader& reader_;
    Random& random_;
};

}  // namespace

AdmissionPluginPtr make_service_account(const AdmissionDependencies& given) {
    return std::make_unique<ServiceAccountAdmission>(given.reader, given.random);
}

}  // namespace porthole::apiserver
