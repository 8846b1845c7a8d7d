#include "winhost/images/archive_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "net/tls/crypto.h"
#include "schema/json/json.h"
#include "winhost/images/content/byte_source.h"
#include "winhost/images/content/files.h"
#include "winhost/images/content/reference.h"
#include "winhost/images/layers/tar_reader.h"

namespace porthole::winhost {
namespace {

namespace fs = std::filesystem;

constexpr int DeepestList = 4;
constexpr std::size_t MostEntries = 1 << 20, MostNameBytes = 64 << 20;
/// Of all manifests, lists and configurations of an archive. A list may name the same list a thousand times, and that one another.
constexpr std::size_t MostText = 64 << 20;

/// "./blobs/x" and "blobs//x" are "blobs/x"; "" for what leads out.
std::string clean(const std::string& name) {
    const fs::path path = fs::path(name).lexically_normal();
    if (path.is_absolute() || path.empty() || *path.begin() == "..") return "";
    return path.string();
}

Result<std::uint64_t> size_of(const std::string& path) {
    struct stat status{};
    if (::stat(path.c_str(), &status) != 0) return io_error("reading", path);
    if (!S_ISREG(status.st_mode)) return Error(Reason::Invalid, path + " is not a file");
    return static_cast<std::uint64_t>(status.st_size);
}

Result<bool> is_packed(const std::string& path) {
    TRY(const std::uint64_t size, size_of(path));
    TRY(const auto file, open_file_source(path, 0, std::min<std::uint64_t>(size, 4)));
    TRY(const std::string start, read_all(*file, 4));
    return start.starts_with("\x1f\x8b") || start == "\x28\xb5\x2f\xfd";
}

Result<void> unpack_to(const std::string& from, const std::string& to) {
    TRY(const std::uint64_t size, size_of(from));
    TRY(auto file, open_file_source(from, 0, size));
    const auto unpacked = make_unpacking_source(std::move(file));
    const FileDescriptor out(::open(to.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!out) return io_error("making", to);
    std::vector<char> buffer(64 << 10);
    for (;;) {
        TRY(const std::size_t count, unpacked->read(buffer));
        if (count == 0) return {};
        TRY_VOID(write_all(out.get(), {buffer.data(), count}, to));
    }
}

std::string blob_name(const std::string& digest) { return "blobs/sha256/" + digest.substr(digest.find(':') + 1); }

/// Adds names that are references; archives may hold anything.
void add_name(ImagePlan& plan, const std::string& name, const std::string& manifest_digest) {
    const auto reference = Reference::parse(name);
    if (!reference) return;
    if (!reference->tag.empty()) plan.tags.push_back(reference->tag_text());
    if (!manifest_digest.empty()) plan.digests.push_back(reference->digest_text(manifest_digest));
}

/// What can be had, or why nothing can.
Result<std::vector<ImagePlan>> plans_or_error(std::vector<Result<ImagePlan>> results) {
    std::vector<ImagePlan> plans;
    for (auto& result : results) {
        if (result) plans.push_back(std::move(*result));
    }
    if (!plans.empty()) return plans;
    if (results.empty()) return Error(Reason::Invalid, "the archive contains no image");
    return std::move(results.front()).error();
}

}  // namespace

Result<std::unique_ptr<ArchiveSource>> ArchiveSource::open(std::string path, std::string scratch) {
    auto source = std::make_unique<ArchiveSource>();
    std::error_code ignored;
    if (fs::is_directory(path, ignored)) {
        source->folder_ = std::move(path);
        return source;
    }
    TRY(const bool packed, is_packed(path));
    if (packed) {
        source->temporary_ = scratch;
        TRY_VOID(unpack_to(path, scratch));
        path = std::move(scratch);
    }
    TRY_VOID(source->index_tar(path));
    return source;
}

ArchiveSource::~ArchiveSource() {
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Result<void> ArchiveSource::index_tar(const std::string& path) {
    TRY(const std::uint64_t size, size_of(path));
    TRY(const auto file, open_file_source(path, 0, size));
    TarReader tar(*file);
    for (std::size_t name_bytes = 0;;) {
        auto entry = tar.next();
        if (!entry) return std::move(entry).error().with_context(path);
        if (!*entry) return {};
        const std::string name = clean((*entry)->name);
        if (name.empty()) continue;
        name_bytes += name.size() + (*entry)->link_name.size();
        if (entries_.size() + links_.size() > MostEntries || name_bytes > MostNameBytes)
            return Error(Reason::Invalid, path + " has too many entries");
        if ((*entry)->type == TarEntry::Type::File) {
            entries_[name] = {.path = path, .offset = (*entry)->offset, .size = (*entry)->size};
        } else if ((*entry)->type == TarEntry::Type::SymbolicLink) {
            links_[name] = clean((fs::path(name).parent_path() / (*entry)->link_name).string());
        } else if ((*entry)->type == TarEntry::Type::HardLink) {
            links_[name] = clean((*entry)->link_name);
        }
    }
}

Result<BlobPlace> ArchiveSource::place(const std::string& wanted) const {
    const std::string name = clean(wanted);
    if (name.empty()) return Error(Reason::Invalid, "the archive refers to \"" + wanted + "\"");
    if (!folder_.empty()) {
        const std::string path = folder_ + "/" + name;
        TRY(const std::uint64_t size, size_of(path));
        return BlobPlace{.path = path, .size = size};
    }
    const auto link = links_.find(name);
    const auto found = entries_.find(link == links_.end() ? name : link->second);
    if (found == entries_.end()) return Error(Reason::NotFound, "the archive lacks " + name);
    return found->second;
}

Result<std::string> ArchiveSource::text(const std::string& name, std::size_t limit) {
    TRY(const BlobPlace at, place(name));
    TRY(const auto file, open_file_source(at.path, at.offset, at.size));
    TRY(std::string content, read_all(*file, limit));
    text_read_ += content.size();
    if (text_read_ > MostText) return Error(Reason::Invalid, "the archive has too many manifests, lists and configurations");
    return content;
}

Result<std::string> ArchiveSource::blob_text(const Descriptor& descriptor, std::size_t limit) {
    TRY(std::string content, text(blob_name(descriptor.digest), limit));
    if ("sha256:" + net::sha256_hex(content) != descriptor.digest)
        return Error(Reason::Invalid, "the archive's blob is not " + descriptor.digest);
    return content;
}

/// The manifests of a list and of the lists in it. An archive may lack those of other platforms.
Result<void> ArchiveSource::expand(const Manifest& list, std::vector<Descriptor>& manifests, int depth) {
    if (depth == DeepestList) return Error(Reason::Invalid, "manifest lists are nested too deeply");
    for (const Descriptor& entry : list.manifests) {
        if (entry.is_index()) {
            TRY(const std::string content, blob_text(entry, ManifestLimit));
            TRY(const Manifest inner, parse_manifest(content));
            TRY_VOID(expand(inner, manifests, depth + 1));
            continue;
        }
        manifests.push_back(entry);
        if (entry.platform) continue;
        TRY(const std::string content, blob_text(entry, ManifestLimit));
        TRY(const Manifest manifest, parse_manifest(content));
        TRY(const std::string config_text, blob_text(manifest.config, ConfigLimit));
        TRY(const ImageDescription description, parse_image_config(config_text));
        const ImageConfig& config = description.config;
        manifests.back().platform = Platform{config.architecture, config.os, config.os_version};
    }
    return {};
}

Result<ImagePlan> ArchiveSource::plan_of_oci(const std::vector<Descriptor>& entries, const HostPlatform& host) {
    Manifest list{.is_index = true};
    TRY_VOID(expand({.is_index = true, .manifests = entries}, list.manifests, 0));
    TRY(const Descriptor chosen, choose_manifest(list, host));
    TRY(const std::string content, blob_text(chosen, ManifestLimit));
    TRY(Manifest manifest, parse_manifest(content));
    TRY(std::string config, blob_text(manifest.config, ConfigLimit));
    std::vector<LayerPlan> layers;
    for (Descriptor& layer : manifest.layers) layers.push_back({.blob = std::move(layer)});
    TRY(ImagePlan plan, make_plan(std::move(config), std::move(layers), host));
    add_name(plan, entries.front().name, entries.size() == 1 ? entries.front().digest : chosen.digest);
    return plan;
}

/// Entries of the same name are one image for several platforms.
Result<std::vector<ImagePlan>> ArchiveSource::plans_of_oci(const HostPlatform& host) {
    TRY(const std::string content, text("index.json", ManifestLimit));
    TRY(Manifest index, parse_manifest(content));
    std::vector<std::vector<Descriptor>> images;
    for (Descriptor& entry : index.manifests) {
        if (!entry.is_index() && !entry.is_manifest()) continue;
        const auto same = std::ranges::find_if(images, [&](const auto& each) { return each.front().name == entry.name; });
        if (same == images.end()) {
            images.push_back({std::move(entry)});
        } else {
            same->push_back(std::move(entry));
        }
    }
    std::vector<Result<ImagePlan>> plans;
    for (const auto& entries : images) plans.push_back(plan_of_oci(entries, host));
    return plans_or_error(std::move(plans));
}

Result<std::vector<ImagePlan>> ArchiveSource::plans_of_docker(const HostPlatform& host) {
    TRY(const std::string content, text("manifest.json", ManifestLimit));
    TRY(const schema::Value images, schema::parse_json(content));
    std::vector<Result<ImagePlan>> plans;
    for (const schema::Value& image : images.is_array() ? images.as_array() : schema::Array()) {
        TRY(std::string config, text(std::string(schema::at(image, "Config").string_or("")), ConfigLimit));
        std::vector<LayerPlan> layers;
        if (const auto& files = schema::at(image, "Layers"); files.is_array()) {
            for (const schema::Value& file : files.as_array()) {
                LayerPlan layer{.file = std::string(file.string_or(""))};
                if (const auto at = place(layer.file)) layer.blob.size = at->size;
                layers.push_back(std::move(layer));
            }
        }
        auto plan = make_plan(std::move(config), std::move(layers), host);
        if (const auto& tags = schema::at(image, "RepoTags"); plan && tags.is_array()) {
            for (const schema::Value& tag : tags.as_array()) add_name(*plan, std::string(tag.string_or("")), "");
        }
        plans.push_back(std::move(plan));
    }
    return plans_or_error(std::move(plans));
}

Result<std::vector<ImagePlan>> ArchiveSource::plans(const HostPlatform& host) {
    // Docker of today writes both; the OCI side knows digests.
    if (place("index.json")) return plans_of_oci(host);
    if (place("manifest.json")) return plans_of_docker(host);
    return Error(Reason::Invalid, "not an image archive: it has neither index.json nor manifest.json");
}

Task<BlobPlace> ArchiveSource::fetch(LayerPlan layer, std::string) {
    co_return place(layer.blob.digest.empty() ? layer.file : blob_name(layer.blob.digest));
}

}  // namespace porthole::winhost
