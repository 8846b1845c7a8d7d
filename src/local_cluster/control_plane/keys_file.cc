#include "local_cluster/control_plane/keys_file.h"

#include <algorithm>
#include <iterator>

#include "base/base64.h"
#include "net/tls/crypto.h"
#include "schema/json/json.h"
#include "schema/value.h"

namespace porthole::local_cluster {
namespace {

using schema::Value;

constexpr std::string_view KeysFormat = "porthole-keys/1";

/// Of the files' names and contents, as they are written. A key with another byte may be a key, which decrypts nothing.
std::string digest_of(const std::map<std::string, std::string>& encoded) {
    std::string text;
    for (const auto& [name, content] : encoded) text.append(name).append("\n").append(content).append("\n");
    return net::sha256_hex(text);
}

/// Nothing is written anywhere else.
bool is_name(std::string_view name) {
    if (std::ranges::find(KeysFile::OtherFiles, name) != std::end(KeysFile::OtherFiles)) return true;
    if (!name.starts_with("pki/")) return false;
    name.remove_prefix(4);
    return !name.empty() && name.size() <= 64 && name != "." && name != ".." && name.find('/') == name.npos && name.find('\0') == name.npos;
}

}  // namespace

std::string KeysFile::text() const {
    std::map<std::string, std::string> encoded;
    Value members = Value::object();
    for (const auto& [name, content] : files) members[name] = encoded[name] = encode_base64(content);
    return schema::to_json(Value::object({{"format", std::string(KeysFormat)},
                                          {"cluster", cluster},
                                          {"sha256", digest_of(encoded)},
                                          {"files", std::move(members)}})) +
           "\n";
}

Result<KeysFile> KeysFile::parse(std::string_view text) {
    const auto parsed = text.size() <= Largest ? schema::parse_json(text) : Result<Value>(Error(Reason::BadRequest, "too large"));
    const Value* members = parsed && parsed->is_object() ? parsed->find("files") : nullptr;
    if (!members || !members->is_object() || parsed->string_at({"format"}) != KeysFormat)
        return Error(Reason::BadRequest, "it is not the keys file of a backup");
    std::map<std::string, std::string> encoded;
    KeysFile keys{.cluster = std::string(parsed->string_at({"cluster"})), .files = {}};
    for (const auto& member : members->as_object()) {
        if (!is_name(member.key)) return Error(Reason::BadRequest, "keys: \"" + member.key + "\" is not a file of a control plane");
        encoded[member.key] = member.value.string_or("");
        TRY(keys.files[member.key], decode_base64(encoded[member.key]));
    }
    const std::string_view digest = parsed->string_at({"sha256"});  // "": written by a version without it
    if (!digest.empty() && digest != digest_of(encoded))
        return Error(Reason::BadRequest, "it is damaged: its keys are not those that were written");
    return keys;
}

}  // namespace porthole::local_cluster
