#include "winhost/images/content/manifest.h"

#include <algorithm>
#include <array>

#include "schema/json/json.h"

namespace porthole::winhost {
namespace {

using schema::Value;

constexpr std::string_view DockerList = "application/vnd.docker.distribution.manifest.list.v2+json";
constexpr std::string_view DockerManifest = "application/vnd.docker.distribution.manifest.v2+json";
constexpr std::string_view OciIndex = "application/vnd.oci.image.index.v1+json";
constexpr std::string_view OciManifest = "application/vnd.oci.image.manifest.v1+json";

/// The words of the host compute service (0xC0370101) for an image of another build.
constexpr std::string_view WrongBuild = "the container operating system does not match the host operating system (0xc0370101)";

Error invalid(std::string message) { return Error(Reason::Invalid, std::move(message)); }

bool is_digest(std::string_view text) {
    constexpr std::string_view Algorithm = "sha256:";
    return text.size() == Algorithm.size() + 64 && text.starts_with(Algorithm) &&
           text.find_first_not_of("0123456789abcdef", Algorithm.size()) == std::string_view::npos;
}

std::string text_at(const Value& object, std::string_view key) { return std::string(schema::at(object, key).string_or("")); }

const schema::Array& items(const Value& value) {
    static const schema::Array none;
    return value.is_array() ? value.as_array() : none;
}

std::vector<std::string> texts(const Value& value) {
    std::vector<std::string> all;
    for (const Value& item : items(value)) {
        if (item.is_string()) all.push_back(item.as_string());
    }
    return all;
}

std::vector<std::string> keys(const Value& value) {
    std::vector<std::string> all;
    if (value.is_object()) {
        for (const auto& member : value.as_object()) all.push_back(member.key);
    }
    return all;
}

Result<Descriptor> parse_descriptor(const Value& value) {
    Descriptor descriptor{.media_type = text_at(value, "mediaType"), .digest = text_at(value, "digest")};
    if (!is_digest(descriptor.digest)) return invalid("manifest: \"" + descriptor.digest + "\" is not a sha256 digest");
    const std::int64_t size = schema::at(value, "size").int_or(-1);
    if (size < 0) return invalid("manifest: " + descriptor.digest + " has no size");
    descriptor.size = static_cast<std::uint64_t>(size);
    descriptor.urls = texts(schema::at(value, "urls"));
    if (const Value* platform = value.find("platform"); platform && platform->is_object()) {
        descriptor.platform = Platform{text_at(*platform, "architecture"), text_at(*platform, "os"), text_at(*platform, "os.version")};
    }
    const Value& annotations = schema::at(value, "annotations");
    descriptor.name = text_at(annotations, "io.containerd.image.name");
    if (descriptor.name.empty()) {
        // An OCI layout has room for a whole reference here; a bare tag ("1") names nothing.
        const std::string name = text_at(annotations, "org.opencontainers.image.ref.name");
        if (name.find_first_of("/:") != std::string::npos) descriptor.name = name;
    }
    return descriptor;
}

Result<std::vector<Descriptor>> parse_descriptors(const Value& list) {
    if (items(list).size() > LayersLimit) return invalid("manifest: more than " + std::to_string(LayersLimit) + " entries");
    std::vector<Descriptor> all;
    for (const Value& item : items(list)) {
        TRY(auto descriptor, parse_descriptor(item));
        all.push_back(std::move(descriptor));
    }
    return all;
}

/// Docker records how Microsoft's layers came to be in their own words.
bool is_windows_step(const Value& step) {
    const std::string created_by = text_at(step, "created_by");
    return created_by.starts_with("Apply image ") || created_by.starts_with("Install update ");
}

std::size_t count_base_layers(const Value& history) {
    std::size_t count = 0;
    for (const Value& step : items(history)) {
        if (schema::at(step, "empty_layer").bool_or(false)) continue;
        if (!is_windows_step(step)) break;
        ++count;
    }
    return count;
}

ImageConfig parse_settings(const Value& root) {
    const Value& settings = schema::at(root, "config");
    ImageConfig config{
        .architecture = text_at(root, "architecture"),
        .os = text_at(root, "os"),
        .os_version = text_at(root, "os.version"),
        .entrypoint = texts(schema::at(settings, "Entrypoint")),
        .command = texts(schema::at(settings, "Cmd")),
        .args_escaped = schema::at(settings, "ArgsEscaped").bool_or(false),
        .environment = texts(schema::at(settings, "Env")),
        .working_dir = text_at(settings, "WorkingDir"),
        .user = text_at(settings, "User"),
        .exposed_ports = keys(schema::at(settings, "ExposedPorts")),
        .volumes = keys(schema::at(settings, "Volumes")),
        .stop_signal = text_at(settings, "StopSignal"),
    };
    if (const Value& labels = schema::at(settings, "Labels"); labels.is_object()) {
        for (const auto& member : labels.as_object()) config.labels[member.key] = member.value.string_or("");
    }
    return config;
}

/// What an entry that fits is worth; higher is better.
struct Rank {
    bool named = false;
    OsVersion version;
    auto operator<=>(const Rank&) const = default;
};

/// Nothing for an entry that does not fit.
std::optional<Rank> rank(const Platform& platform, const HostPlatform& host) {
    if (platform.os != "windows" || platform.architecture != host.architecture) return std::nullopt;
    if (platform.os_version.empty()) return Rank{};
    const auto version = OsVersion::parse(platform.os_version);
    if (!version || !can_run(host.version, *version)) return std::nullopt;
    return Rank{true, *version};
}

std::string offers(const Manifest& list) {
    std::string text;
    for (const Descriptor& entry : list.manifests) {
        if (entry.platform) text += (text.empty() ? "" : ", ") + entry.platform->text();
    }
    return text.empty() ? "nothing that names its platform" : text;
}

Error no_entry(const Manifest& list, const HostPlatform& host) {
    const auto differs_by_build = [&](const Descriptor& entry) {
        return entry.platform && entry.platform->os == "windows" && entry.platform->architecture == host.architecture;
    };
    const bool build = std::ranges::any_of(list.manifests, differs_by_build);
    return Error(Reason::NotFound, (build ? "ImageOSVersionMismatch: " + std::string(WrongBuild) + ": " : "ImageOSMismatch: ") +
                                       "no match for platform in manifest: this host is " + host.text() + "; offered: " + offers(list));
}

}  // namespace

std::string Platform::text() const { return os + "/" + architecture + (os_version.empty() ? "" : " " + os_version); }

bool Descriptor::is_index() const { return media_type == OciIndex || media_type == DockerList; }
bool Descriptor::is_manifest() const { return media_type == OciManifest || media_type == DockerManifest; }
bool Descriptor::is_foreign() const {
    return media_type.contains(".foreign.") || media_type.contains(".nondistributable.") || !urls.empty();
}

Result<Manifest> parse_manifest(std::string_view text) {
    const auto root = schema::parse_json(text, schema::JsonLimits{.depth = 32});
    if (!root || !root->is_object()) return invalid("manifest: not a JSON object");
    Manifest manifest;
    const std::string media_type = text_at(*root, "mediaType");
    manifest.is_index = media_type == OciIndex || media_type == DockerList || (media_type.empty() && root->find("manifests"));
    if (manifest.is_index) {
        TRY(manifest.manifests, parse_descriptors(schema::at(*root, "manifests")));
        return manifest;
    }
    if (schema::at(*root, "schemaVersion").int_or(0) != 2) return invalid("manifest: only schema version 2 is understood");
    if (!root->find("config")) return invalid("manifest: not an image (it has no config)");
    TRY(manifest.config, parse_descriptor(schema::at(*root, "config")));
    TRY(manifest.layers, parse_descriptors(schema::at(*root, "layers")));
    return manifest;
}

Result<ImageDescription> parse_image_config(std::string_view text) {
    const auto root = schema::parse_json(text, schema::JsonLimits{.depth = 32});
    if (!root || !root->is_object()) return invalid("image configuration: not a JSON object");
    ImageDescription description{
        .config = parse_settings(*root),
        .diff_ids = texts(schema::at(schema::at(*root, "rootfs"), "diff_ids")),
        .base_layers = count_base_layers(schema::at(*root, "history")),
    };
    if (description.diff_ids.size() > LayersLimit) return invalid("image configuration: too many layers");
    if (!std::ranges::all_of(description.diff_ids, is_digest)) return invalid("image configuration: a diff id is not a sha256 digest");
    return description;
}

Result<Descriptor> choose_manifest(const Manifest& list, const HostPlatform& host) {
    const Descriptor* best = nullptr;
    Rank best_rank;
    for (const Descriptor& entry : list.manifests) {
        const auto found = entry.platform ? rank(*entry.platform, host) : std::nullopt;
        if (found && (!best || *found > best_rank)) {
            best = &entry;
            best_rank = *found;
        }
    }
    if (!best) return no_entry(list, host);
    return *best;
}

Result<void> check_platform(const ImageConfig& config, const HostPlatform& host) {
    const Platform image{config.architecture, config.os, config.os_version};
    if (config.os != "windows" || config.architecture != host.architecture)
        return invalid("ImageOSMismatch: the image is for " + image.text() + ", this host is " + host.text());
    if (config.os_version.empty()) return {};
    const auto version = OsVersion::parse(config.os_version);
    if (!version) return invalid("ImageOSVersionMismatch: " + version.error().message);
    if (!can_run(host.version, *version)) {
        return invalid("ImageOSVersionMismatch: " + std::string(WrongBuild) + ": the image is built for " + image.os_version +
                       ", this host is " + host.version.text());
    }
    return {};
}

}  // namespace porthole::winhost
