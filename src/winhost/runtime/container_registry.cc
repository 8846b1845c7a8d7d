#include "winhost/runtime/container_registry.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>

#include "net/tls/crypto.h"
#include "runtime/files/file_system.h"
#include "winhost/hives/hive_merge.h"
#include "winhost/images/content/image.h"
#include "winhost/template/registry_file.h"

namespace porthole::winhost {
namespace {

namespace fs = std::filesystem;

constexpr const char *SystemFile = "system.reg", *DefaultUserFile = "userdef.reg", *UserFile = "user.reg";

Error failed(const std::string& doing, const std::string& path) { return Error(Reason::Io, doing + " " + path + " failed"); }

/// nullopt if there is no such file. Layers and templates are changed by nobody.
Result<std::optional<std::string>> read_file(const std::string& path) {
    std::error_code code;
    // A layer may have a link there.
    if (fs::symlink_status(path, code).type() != fs::file_type::regular) return std::optional<std::string>();
    const std::uint64_t size = fs::file_size(path, code);
    if (code || size > LargestHive) return failed("reading", path);
    std::string content(size, '\0');
    std::ifstream file(path, std::ios::binary);
    if (!file.read(content.data(), static_cast<std::streamsize>(size))) return failed("reading", path);
    return std::optional(std::move(content));
}

Result<void> write_file(const std::string& path, const std::string& content) {
    std::ofstream file(path, std::ios::binary);
    file.write(content.data(), static_cast<std::streamsize>(content.size()));
    file.close();
    return file ? Result<void>() : failed("writing", path);
}

std::string hive_path(const std::string& layer, const char* name) { return join_path(layer, join_path(HivesFolder, name)); }

/// The hive of the user's profile, which is an ordinary file of the image: whole in the topmost layer that has it.
std::string profile_path(const std::string& layer, const std::string& user) {
    return join_path(layer, "wine/drive_c/users/" + user + "/NTUSER.DAT");
}

/// One of Wine's files, and the hives that go into it: in this order in each layer.
struct Target {
    const char* file;
    std::vector<std::pair<const char*, HivePlace>> hives;
};
const std::vector<Target> Targets = {{SystemFile, {{SoftwareHive, HivePlace::Software}, {SystemHive, HivePlace::System}}},
                                     {DefaultUserFile, {{DefaultUserHive, HivePlace::User}}}};

class Merger {
public:
    explicit Merger(const RegistryRequest& request) : request_(request) {}

    bool has_hives() const {
        std::error_code code;
        return std::ranges::any_of(request_.layers, [&](const std::string& layer) {
            return fs::exists(join_path(layer, HivesFolder), code) || fs::exists(profile_path(layer, request_.user), code);
        });
    }

    /// Makes the registry files in `folder` that are not Wine's alone.
    Result<void> merge_into(const std::string& folder) {
        for (const Target& target : Targets) {
            std::vector<std::pair<std::string, HivePlace>> hives;
            for (auto layer = request_.layers.rbegin(); layer != request_.layers.rend(); ++layer)
                for (const auto& [name, place] : target.hives) hives.emplace_back(hive_path(*layer, name), place);
            TRY_VOID(merge(folder, target.file, hives));
        }
        std::error_code code;
        for (const std::string& layer : request_.layers) {
            const std::string path = profile_path(layer, request_.user);
            if (fs::exists(fs::symlink_status(path, code))) return merge(folder, UserFile, {{path, HivePlace::User}});
        }
        return {};
    }

    std::vector<std::string> left_out;

private:
    Result<void> merge(const std::string& folder, const char* file, const std::vector<std::pair<std::string, HivePlace>>& hives) {
        std::optional<HiveMerge> merge;
        for (const auto& [path, place] : hives) {
            TRY(const auto bytes, read_file(path));
            if (!bytes) continue;
            const auto hive = parse_hive(*bytes);
            if (!hive) {
                left_out.push_back(path + ": " + hive.error().message);
                continue;
            }
            if (!merge) {
                TRY(RegistryFile own, own_file(file));
                merge.emplace(std::move(own));
            }
            if (const auto added = merge->add(place, *hive); !added) left_out.push_back(path + ": " + added.error().message);
        }
        return merge ? write_file(join_path(folder, file), merge->text()) : Result<void>();
    }

    Result<RegistryFile> own_file(const char* name) const {
        for (const std::string& root : request_.templates) {
            TRY(const auto text, read_file(join_path(root, std::string("wine/") + name)));
            if (text) return RegistryFile::parse(*text);
        }
        return Error(Reason::Io, std::string("the template has no ") + name);
    }

    const RegistryRequest& request_;
};

/// Layers and templates never change under their names.
std::string cached_folder(const RegistryRequest& request) {
    std::string inputs = request.user;
    for (const auto* folders : {&request.layers, &request.templates})
        for (const std::string& folder : *folders) inputs += "\n" + folder;
    return join_path(request.cache, net::sha256_hex(inputs).substr(0, 24));
}

Result<void> build(Merger& merger, const RegistryRequest& request, const std::string& result) {
    std::error_code code;
    fs::create_directories(request.cache, code);
    std::string building = result + "-XXXXXX";  // another container may do the same
    if (code || !::mkdtemp(building.data())) return failed("making", building);
    const std::string prefix = join_path(building, "wine");
    fs::create_directory(prefix, code);
    fs::permissions(building, fs::perms(0755), code);  // of the container's root, too
    const auto merged = merger.merge_into(prefix);
    if (merged) fs::rename(building, result, code);
    fs::remove_all(building, code);  // unless it has become the result
    TRY_VOID(merged);
    return fs::exists(result) ? Result<void>() : failed("making", result);
}

}  // namespace

Result<MergedRegistry> merge_registry(const RegistryRequest& request) {
    Merger merger(request);
    if (!merger.has_hives()) return MergedRegistry();
    const std::string folder = cached_folder(request);
    if (!fs::exists(folder)) TRY_VOID(build(merger, request, folder));
    return MergedRegistry{folder, std::move(merger.left_out)};
}

}  // namespace porthole::winhost
