#include "kubelet/images/credentials.h"

#include <functional>
#include <map>

#include "schema/json/json.h"

namespace porthole::kubelet {
namespace {

/// "https://index.docker.io/v1/" → "index.docker.io"; a path other than the API version stays.
std::string registry_path(std::string key) {
    for (const std::string scheme : {"https://", "http://"})
        if (key.starts_with(scheme)) key.erase(0, scheme.size());
    while (key.ends_with('/')) key.pop_back();
    for (const std::string version : {"/v1", "/v2"})
        if (key.ends_with(version)) key.resize(key.size() - version.size());
    return key == "index.docker.io" ? "docker.io" : key;
}

bool covers(const std::string& path, const ImageName& image) {
    if (path == image.registry()) return true;
    return image.repository.starts_with(path) && (image.repository.size() == path.size() || image.repository[path.size()] == '/');
}

cri::AuthConfig auth_of(const schema::Value& entry) {
    cri::AuthConfig auth;
    auth.username = entry.string_at({"username"});
    auth.password = entry.string_at({"password"});
    auth.auth = entry.string_at({"auth"});
    auth.identity_token = entry.string_at({"identitytoken"});
    auth.registry_token = entry.string_at({"registrytoken"});
    return auth;
}

/// The object of registries in a secret, or null.
schema::Value registries_of(const core::Secret& secret) {
    const bool modern = secret.type == "kubernetes.io/dockerconfigjson";
    const auto found = secret.data.find(modern ? ".dockerconfigjson" : ".dockercfg");
    if (found == secret.data.end()) return {};
    auto parsed = schema::parse_json(found->second);
    if (!parsed) return {};
    return modern ? schema::at(*parsed, "auths") : *parsed;
}

}  // namespace

std::vector<cri::AuthConfig> registry_credentials(const ImageName& image, const std::vector<std::shared_ptr<const core::Secret>>& secrets) {
    std::multimap<std::size_t, cri::AuthConfig, std::greater<>> found;  // by length of the path
    for (const auto& secret : secrets) {
        const schema::Value registries = registries_of(*secret);
        if (!registries.is_object()) continue;
        for (const schema::Member& member : registries.as_object()) {
            const std::string path = registry_path(member.key);
            if (!covers(path, image)) continue;
            // Without the server's address, as upstream: containerd takes it for a URL, and would use the credentials for no other host.
            found.emplace(path.size(), auth_of(member.value));
        }
    }
    std::vector<cri::AuthConfig> credentials;
    for (auto& [length, auth] : found) credentials.push_back(std::move(auth));
    return credentials;
}

}  // namespace porthole::kubelet
