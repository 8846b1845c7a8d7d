#include <algorithm>

#include "base/result.h"
#include "kubelet/container/environment.h"
#include "kubelet/container/windows_config.h"
#include "kubelet/volumes/atomic_writer/atomic_writer.h"
#include "kubelet/volumes/framework/mounter.h"
#include "kubelet/volumes/framework/plugin.h"
#include "kubelet/volumes/framework/token_source.h"
#include "kubelet/volumes/object_volumes/pod_certificates.h"
#include "kubelet/volumes/object_volumes/trust_anchors.h"

// Volumes whose files come out of the API: they share one way of choosing keys and one atomic writer, and are brought up to
// date with every set_up.
namespace porthole::kubelet {
namespace {

constexpr std::uint32_t DefaultMode = 0644;

std::map<std::string, std::string> data_of(const core::ConfigMap& map) {
    std::map<std::string, std::string> all = map.data;
    all.insert(map.binary_data.begin(), map.binary_data.end());
    return all;
}

std::uint32_t mode_of(std::optional<std::int32_t> mode) { return static_cast<std::uint32_t>(mode.value_or(DefaultMode)); }

/// The files of one volume. Each entry of a volume may show the same value of a megabyte again, and a volume has room for tens of
/// thousands.
class Files {
public:
    /// Error: BadRequest if they have become too many bytes.
    Result<void> add(const std::string& path, ProjectedFile file) {
        bytes_ += path.size() + file.contents.size();
        if (bytes_ > MaxBytes)
            return Error(Reason::BadRequest, "the files of the volume have more than " + std::to_string(MaxBytes) + " bytes");
        payload_[path] = std::move(file);
        return {};
    }
    Payload take() { return std::move(payload_); }

private:
    static constexpr std::size_t MaxBytes = 64 << 20;
    Payload payload_;
    std::size_t bytes_ = 0;
};

/// The files for `items` out of `data` (all keys when there are no items). Error: BadRequest for a key that is missing.
Result<Payload> payload_of(const std::map<std::string, std::string>& data, const std::vector<core::KeyToPath>& items,
                           std::uint32_t default_mode, bool optional, const std::string& what) {
    Files files;
    if (items.empty()) {
        for (const auto& [key, value] : data) TRY_VOID(files.add(key, {value, default_mode, std::nullopt}));
        return files.take();
    }
    for (const core::KeyToPath& item : items) {
        const auto found = data.find(item.key);
        if (found == data.end()) {
            if (optional) continue;
            return Error(Reason::BadRequest, what + " references non-existent " + what + " key: " + item.key);
        }
        TRY_VOID(files.add(item.path, {found->second, item.mode ? mode_of(item.mode) : default_mode, std::nullopt}));
    }
    return files.take();
}

/// An object that may be missing where `optional` says so: nullptr then.
template <class T>
Result<std::shared_ptr<const T>> allow_missing(Result<std::shared_ptr<const T>> found, std::optional<bool> optional) {
    if (is_not_found(found) && optional.value_or(false)) return std::shared_ptr<const T>();
    return found;
}

Task<Payload> config_map_payload(const VolumeRequest& request, ObjectSource& objects, const std::string& name,
                                 const std::vector<core::KeyToPath>& items, std::uint32_t mode, std::optional<bool> optional) {
    CO_TRY(const auto map, allow_missing(co_await objects.config_map(request.pod->metadata.namespace_, name), optional));
    if (!map) co_return Payload();
    co_return payload_of(data_of(*map), items, mode, optional.value_or(false), "configmap");
}

Task<Payload> secret_payload(const VolumeRequest& request, ObjectSource& objects, const std::string& name,
                             const std::vector<core::KeyToPath>& items, std::uint32_t mode, std::optional<bool> optional) {
    CO_TRY(const auto secret, allow_missing(co_await objects.secret(request.pod->metadata.namespace_, name), optional));
    if (!secret) co_return Payload();
    co_return payload_of(secret->data, items, mode, optional.value_or(false), "secret");
}

Result<Payload> downward_payload(const VolumeRequest& request, const std::vector<core::DownwardAPIVolumeFile>& items,
                                 std::uint32_t default_mode) {
    const DownwardContext context{.node_allocatable = request.node_allocatable};
    Files files;
    for (const core::DownwardAPIVolumeFile& item : items) {
        ProjectedFile file;
        file.mode = item.mode ? mode_of(item.mode) : default_mode;
        if (item.field_ref) {
            TRY(file.contents, field_value(*request.pod, item.field_ref->field_path, context));
        } else if (item.resource_field_ref) {
            TRY(file.contents, resource_value(*request.pod, *item.resource_field_ref, "", context));
        }
        TRY_VOID(files.add(item.path, std::move(file)));
    }
    return files.take();
}

/// The user that all containers of the pod run as; nullopt where they differ, or one's image says it.
std::optional<std::uint32_t> user_of(const core::PodSpec& spec) {
    std::optional<std::int64_t> of_pod, of_all;
    if (spec.security_context) of_pod = spec.security_context->run_as_user;
    for (const auto* containers : {&spec.init_containers, &spec.containers})
        for (const core::Container& container : *containers) {
            const auto& security = container.security_context;
            const std::optional<std::int64_t> own = security && security->run_as_user ? security->run_as_user : of_pod;
            if (!own || (of_all && *of_all != *own)) return std::nullopt;
            of_all = own;
        }
    return of_all ? std::optional(static_cast<std::uint32_t>(*of_all)) : std::nullopt;
}

/// Readable by the pod's user alone where there is one; by the group where fsGroup says.
ProjectedFile file_of_user(const VolumeRequest& request, std::string contents, std::uint32_t mode) {
    ProjectedFile file{std::move(contents), mode, user_of(request.pod->spec)};
    if (file.owner || request.fs_group()) file.mode = 0600;  // fsGroup then adds its own rights
    return file;
}

Task<Payload> token_payload(const VolumeRequest& request, TokenSource& tokens, const core::ServiceAccountTokenProjection& source,
                            std::uint32_t mode) {
    CO_TRY(const ServiceAccountToken token, co_await tokens.token(request.pod, source.audience, source.expiration_seconds.value_or(3600)));
    co_return Payload{{source.path, file_of_user(request, token.token, mode)}};
}

using Source = core::PodCertificateProjection;

/// The files of `source`, by what they hold.
struct CertificateFile {
    std::string Source::* path;
    bool has_key, has_chain;
};
constexpr CertificateFile CertificateFiles[] = {
    {&Source::credential_bundle_path, true, true}, {&Source::key_path, true, false}, {&Source::certificate_chain_path, false, true}};

/// What is in the volume already, of an earlier kubelet; empty unless all of it is there.
Payload held_certificates(const VolumeRequest& request, FileSystem& files, const Source& source, std::uint32_t mode) {
    Payload held;
    for (const CertificateFile& file : CertificateFiles) {
        const std::string& path = source.*file.path;
        if (path.empty()) continue;
        auto contents = files.read(join_path(request.directory, path));
        if (!contents) return {};
        held[path] = file_of_user(request, *std::move(contents), mode);
    }
    return held;
}

/// Containers that run keep what they have while nothing newer can be had.
Task<Payload> certificate_payload(const VolumeRequest& request, PodCertificates* certificates, FileSystem& files, std::size_t index,
                                  const Source& source, std::uint32_t mode) {
    if (!certificates) co_return Error(Reason::BadRequest, "pod certificates are not supported by this kubelet");
    auto bundle = co_await certificates->bundle(request.pod, request.volume.name, index, source);
    if (is_cancelled(bundle)) co_return std::move(bundle).error();
    if (!bundle) {
        Payload held = held_certificates(request, files, source, mode);
        if (held.empty()) co_return std::move(bundle).error();
        co_return held;
    }
    Payload payload;
    for (const CertificateFile& file : CertificateFiles) {
        const std::string& path = source.*file.path;
        if (path.empty()) continue;
        payload[path] = file_of_user(request, (file.has_key ? bundle->key : "") + (file.has_chain ? bundle->certificate_chain : ""), mode);
    }
    co_return payload;
}

/// The accounts of the containers that mount the volume. What an image says is not known here: any account of a container, then.
std::vector<std::string> readers_of(const VolumeRequest& request) {
    std::vector<std::string> readers;
    const auto mounts_it = [&](const auto& container) {
        return std::ranges::find(container.volume_mounts, request.volume.name, &core::VolumeMount::name) != container.volume_mounts.end();
    };
    const auto take = [&](const core::Container& container) {
        const ImageUser image_user{.name = is_host_process(*request.pod, container) ? "" : "some account of the image"};
        const std::string reader = windows_reader(*request.pod, container, image_user);
        if (!reader.empty()) readers.push_back(reader);
    };
    // No container is copied that does not mount the volume: this is asked for each volume.
    for (const auto* containers : {&request.pod->spec.init_containers, &request.pod->spec.containers})
        for (const core::Container& container : *containers)
            if (mounts_it(container)) take(container);
    for (const core::EphemeralContainer& ephemeral : request.pod->spec.ephemeral_containers)
        if (mounts_it(ephemeral)) take(to_container(ephemeral));
    return readers;
}

class ObjectVolume : public VolumePlugin {
public:
    explicit ObjectVolume(const VolumeHost& host, bool confidential = true) : host_(host), confidential_(confidential) {}

    Task<MountedVolume> set_up(VolumeRequest request) override {
        if (!host_.object_volumes_refusal.empty()) co_return Error(Reason::BadRequest, host_.object_volumes_refusal);
        CO_TRY(Payload payload, co_await collect(request));
        if (request.fs_group())
            for (auto& [path, file] : payload) file.mode |= 0440;
        if (host_.windows)  // a file has the access list of its folder, and none of its own
            for (auto& [path, file] : payload) file.mode = DefaultMode;
        CO_TRY_VOID(host_.files.create_directories(request.directory, 0755));
        const bool restricted = confidential_ && host_.windows;
        if (restricted) CO_TRY_VOID(restrict(request));
        if (confidential_) CO_TRY_VOID(mount_memory(request));
        AtomicWriter writer(host_.files, host_.loop, host_.random, request.directory);
        CO_TRY_VOID(writer.write(payload, request.fs_group()));
        co_return MountedVolume{.path = request.directory, .read_only = true, .restricted = restricted, .relabel = true};
    }

protected:
    virtual Task<Payload> collect(const VolumeRequest& request) = 0;

    const VolumeHost& host_;

private:
    /// Files that are there without being restricted are of a kubelet that did not do so: containers that run already go on reading.
    Result<void> restrict(const VolumeRequest& request) const {
        TRY(const auto names, host_.files.list(request.directory));
        return host_.files.restrict_to_administrators(request.directory, names.empty() ? std::vector<std::string>() : readers_of(request));
    }

    /// Where files are already, it is mounted, or a kubelet of before left them on the disk: running containers see those until they end.
    Result<void> mount_memory(const VolumeRequest& request) const {
        TRY(const auto names, host_.files.list(request.directory));
        if (!names.empty()) return {};
        return host_.mounter.mount_memory(request.directory,
                                          static_cast<std::uint64_t>(amount_of(request.node_allocatable, "memory").value()));
    }

    bool confidential_;  ///< it may hold what nobody but the pod may know: never on the disk, or (Windows) closed to others there
};

class ConfigMapVolume final : public ObjectVolume {
public:
    ConfigMapVolume(const VolumeHost& host, ObjectSource& objects) : ObjectVolume(host, false), objects_(objects) {}

private:
    const char* name() const override { return "kubernetes.io/configmap"; }
    bool supports(const core::Volume& volume) const override { return volume.config_map.has_value(); }
    Task<Payload> collect(const VolumeRequest& request) override {
        const core::ConfigMapVolumeSource& source = *request.volume.config_map;
        co_return co_await config_map_payload(request, objects_, source.name, source.items, mode_of(source.default_mode), source.optional);
    }

    ObjectSource& objects_;
};

class SecretVolume final : public ObjectVolume {
public:
    SecretVolume(const VolumeHost& host, ObjectSource& objects) : ObjectVolume(host), objects_(objects) {}

private:
    const char* name() const override { return "kubernetes.io/secret"; }
    bool supports(const core::Volume& volume) const override { return volume.secret.has_value(); }
    Task<Payload> collect(const VolumeRequest& request) override {
        const core::SecretVolumeSource& source = *request.volume.secret;
        co_return co_await secret_payload(request, objects_, source.secret_name, source.items, mode_of(source.default_mode),
                                          source.optional);
    }

    ObjectSource& objects_;
};

class DownwardApiVolume final : public ObjectVolume {
public:
    using ObjectVolume::ObjectVolume;

private:
    const char* name() const override { return "kubernetes.io/downward-api"; }
    bool supports(const core::Volume& volume) const override { return volume.downward_api.has_value(); }
    Task<Payload> collect(const VolumeRequest& request) override {
        const core::DownwardAPIVolumeSource& source = *request.volume.downward_api;
        co_return downward_payload(request, source.items, mode_of(source.default_mode));
    }
};

class ProjectedVolume final : public ObjectVolume {
public:
    ProjectedVolume(const VolumeHost& host, const VolumeApi& api) : ObjectVolume(host), api_(api) {}

private:
    const char* name() const override { return "kubernetes.io/projected"; }
    bool supports(const core::Volume& volume) const override { return volume.projected.has_value(); }
    Task<Payload> collect(const VolumeRequest& request) override {
        const core::ProjectedVolumeSource& source = *request.volume.projected;
        const std::uint32_t mode = mode_of(source.default_mode);
        Files all;
        for (std::size_t i = 0; i < source.sources.size(); ++i) {
            CO_TRY(Payload payload, co_await one(request, i, mode));
            for (auto& [path, file] : payload) CO_TRY_VOID(all.add(path, std::move(file)));  // the later source wins
        }
        co_return all.take();
    }

    Task<Payload> one(const VolumeRequest& request, std::size_t index, std::uint32_t mode) {
        const core::VolumeProjection& part = request.volume.projected->sources[index];
        if (part.config_map)
            co_return co_await config_map_payload(request, api_.objects, part.config_map->name, part.config_map->items, mode,
                                                  part.config_map->optional);
        if (part.secret)
            co_return co_await secret_payload(request, api_.objects, part.secret->name, part.secret->items, mode, part.secret->optional);
        if (part.downward_api) co_return downward_payload(request, part.downward_api->items, mode);
        if (part.service_account_token) co_return co_await token_payload(request, api_.tokens, *part.service_account_token, mode);
        if (part.cluster_trust_bundle) {
            CO_TRY(std::string anchors, co_await anchors_.of(host_.loop, api_.client, *part.cluster_trust_bundle));
            co_return Payload{{part.cluster_trust_bundle->path, file_of_user(request, std::move(anchors), mode)}};
        }
        if (part.pod_certificate)
            co_return co_await certificate_payload(request, api_.certificates, host_.files, index, *part.pod_certificate, mode);
        co_return Error(Reason::BadRequest, "this kind of projected source is not supported by this kubelet");
    }

    const VolumeApi& api_;
    TrustAnchors anchors_;
};

}  // namespace

std::unique_ptr<VolumePlugin> make_config_map(const VolumeDependencies& given) {
    return std::make_unique<ConfigMapVolume>(given.host, given.api.objects);
}
std::unique_ptr<VolumePlugin> make_secret(const VolumeDependencies& given) {
    return std::make_unique<SecretVolume>(given.host, given.api.objects);
}
std::unique_ptr<VolumePlugin> make_downward_api(const VolumeDependencies& given) { return std::make_unique<DownwardApiVolume>(given.host); }
std::unique_ptr<VolumePlugin> make_projected(const VolumeDependencies& given) {
    return std::make_unique<ProjectedVolume>(given.host, given.api);
}

}  // namespace porthole::kubelet
