#include "node_join/shared_secrets/shared_secrets.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/strings.h"
#include "net/tls/crypto.h"
#include "net/tls/x509.h"
#include "node_join/ca_rotation.h"
#include "node_join/pki_files.h"
#include "runtime/files/durable_file.h"
#include "schema/json/json.h"
#include "schema/value.h"

namespace porthole::node_join {
namespace {

namespace fs = std::filesystem;
using net::CertificateAuthority;
using schema::Value;

constexpr std::string_view Format = "porthole-shared-secrets/", Version = "1";
constexpr std::size_t LargestText = 1 << 20, LargestFile = 256 << 10, MostSettings = 100;
constexpr std::int64_t LastGeneration = std::int64_t{1} << 53;
constexpr std::string_view EncryptionFile = "encryption.yaml";

struct SharedFile {
    std::string_view name;
    bool required = false;
    unsigned mode = 0600;
};
// In the order in which they are written.
constexpr std::array Files{
    SharedFile{EncryptionFile},
    SharedFile{"pki/sa-rotation-started"},
    SharedFile{"pki/sa-previous.key"},
    SharedFile{"pki/sa.key", true},
    SharedFile{"pki/kubelets-unverified-until"},
    SharedFile{"pki/kubelet-serving-ca.key", true},
    SharedFile{"pki/kubelet-serving-ca.crt", true, 0644},
    SharedFile{"pki/front-proxy-ca.key", true},
    SharedFile{"pki/front-proxy-ca.crt", true, 0644},
    SharedFile{"pki/ca-cross.crt", false, 0644},
    SharedFile{"pki/ca-previous.crt", false, 0644},
    SharedFile{"pki/ca-rotation-started"},
    SharedFile{"pki/ca.key", true},
    SharedFile{"pki/ca.crt", true, 0644},
};
constexpr const char* Authorities[] = {"pki/ca", "pki/kubelet-serving-ca", "pki/front-proxy-ca"};
/// They mean something only while there is the last one.
constexpr const char* OfCaRotation[] = {"pki/ca-cross.crt", "pki/ca-previous.crt", "pki/ca-rotation-started"};
constexpr const char* Mark = "pki/shared-secrets";

bool is_cluster_id(std::string_view text) {
    return text.size() == 32 && std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

/// Error: BadRequest naming what is missing or does not belong together.
Result<void> check(const SharedSecrets::Texts& files) {
    for (const SharedFile& file : Files) {
        const auto found = files.find(std::string(file.name));
        if (file.required && found == files.end()) return Error(Reason::BadRequest, std::string(file.name) + " is missing");
    }
    for (const std::string name : Authorities) {
        if (const auto pair = CertificateAuthority::load(files.at(name + ".crt"), files.at(name + ".key")); !pair)
            return Error(pair.error()).with_context(name + ".crt and " + name + ".key");
    }
    const bool rotating = files.contains(OfCaRotation[2]);
    for (const std::string name : OfCaRotation)
        if (files.contains(name) != rotating) return Error(Reason::BadRequest, "a rotation of the authority is half begun: " + name);
    const bool two = split_certificates(files.at("pki/ca.crt")).size() == 2;
    return rotating == two ? Result<void>()
                           : Error(Reason::BadRequest, "pki/ca.crt does not have as many authorities as its rotation says");
}

Result<SharedSecrets::Texts> texts_of(const Value* object, std::size_t most, std::size_t longest) {
    const Error wrong(Reason::BadRequest, "not a text of shared secrets");
    if (!object || !object->is_object() || object->as_object().size() > most) return wrong;
    SharedSecrets::Texts texts;
    for (const auto& member : object->as_object()) {
        if (!member.value.is_string() || member.value.as_string().size() > longest) return wrong;
        texts.emplace(member.key, member.value.as_string());
    }
    return texts;
}

Value object_of(const SharedSecrets::Texts& texts) {
    Value object = Value::object();
    for (const auto& [name, text] : texts) object[name] = text;
    return object;
}

}  // namespace

SharedSecrets SharedSecrets::make(std::string encryption, SystemTime now) {
    SharedSecrets made{.cluster = net::to_hex(net::random_bytes(16))};
    for (const std::string name : Authorities) {
        const auto authority = CertificateAuthority::create("porthole-" + name.substr(4), now - ClockSkew, now + AuthorityLife);
        made.files[name + ".crt"] = authority.certificate_pem();
        made.files[name + ".key"] = authority.key_pem();
    }
    made.files["pki/sa.key"] = net::PrivateKey::generate().pem();
    if (!encryption.empty()) made.files[std::string(EncryptionFile)] = std::move(encryption);
    return made;
}

std::string SharedSecrets::text() const {
    return schema::to_json(Value::object({{"format", std::string(Format).append(Version)},
                                          {"cluster", cluster},
                                          {"files", object_of(files)},
                                          {"settings", object_of(settings)},
                                          {"generation", generation}}));
}

Result<SharedSecrets> SharedSecrets::parse(std::string_view text) {
    const Error wrong(Reason::BadRequest, "not a text of shared secrets");
    if (text.size() > LargestText) return wrong;
    TRY(const Value document, schema::parse_json(text, {.depth = 4}));
    if (!document.is_object()) return wrong;
    const std::string format(document.string_at({"format"}));
    if (!format.starts_with(Format)) return wrong;
    if (format.substr(Format.size()) != Version)
        return Error(Reason::Conflict, "they were written by a newer version of porthole (" + format + ")");
    SharedSecrets secrets{.cluster = std::string(document.string_at({"cluster"}))};
    if (!is_cluster_id(secrets.cluster)) return wrong;
    TRY(secrets.files, texts_of(document.find("files"), Files.size(), LargestFile));
    TRY(secrets.settings, texts_of(document.find("settings"), MostSettings, 1000));
    const Value* generation = document.find("generation");
    if (!generation || !generation->is_int() || generation->as_int() < 1 || generation->as_int() > LastGeneration) return wrong;
    secrets.generation = generation->as_int();
    for (const auto& [name, content] : secrets.files)
        if (std::ranges::find(Files, name, &SharedFile::name) == Files.end()) return wrong;
    TRY_VOID(check(secrets.files));
    return secrets;
}

std::string SharedSecrets::digest() const { return net::sha256_hex(schema::to_json(object_of(files))); }

Result<std::optional<SharedSecrets>> read_shared_files(const fs::path& data) {
    TRY(const bool exists, has_file(data / "pki/ca.crt"));
    if (!exists) return std::optional<SharedSecrets>();
    TRY_VOID(resume_ca_rotation(data / "pki"));
    SharedSecrets secrets;
    for (const SharedFile& file : Files) {
        TRY(const bool there, has_file(data / file.name));
        if (!there) continue;
        TRY(secrets.files[std::string(file.name)], read_file(data / file.name));
    }
    if (!secrets.files.contains(OfCaRotation[2]))
        for (const char* name : OfCaRotation) secrets.files.erase(name);
    if (const auto checked = check(secrets.files); !checked)
        return Error(Reason::Conflict, "the keys in " + data.string() + " cannot be shared: " + checked.error().message);
    return std::optional(std::move(secrets));
}

Result<void> write_shared_files(const fs::path& data, const SharedSecrets& secrets) {
    std::error_code error;
    fs::create_directories(data / "pki", error);
    if (!error) fs::permissions(data / "pki", fs::perms::owner_all, error);
    if (error) return Error(Reason::Io, "cannot make " + (data / "pki").string() + ": " + error.message());
    for (const SharedFile& file : Files) {
        const auto found = secrets.files.find(std::string(file.name));
        if (found == secrets.files.end()) {
            if (file.name == EncryptionFile) continue;  // it may be this server's own
            fs::remove(data / file.name, error);
            if (error) return Error(Reason::Io, "cannot remove " + (data / file.name).string() + ": " + error.message());
            continue;
        }
        const auto present = read_file(data / file.name);
        if (!present || *present != found->second) TRY_VOID(write_durably(data / file.name, found->second, file.mode));
    }
    return {};
}

Result<std::optional<SharedMark>> read_shared_mark(const fs::path& data) {
    TRY(const bool there, has_file(data / Mark));
    if (!there) return std::optional<SharedMark>();
    TRY(const std::string text, read_file(data / Mark));
    std::vector<std::string> words = split(trim(text), ' ');
    words.resize(3);
    SharedMark mark{.cluster = words[0], .digest = words[1]};
    const char* end = words[2].data() + words[2].size();
    const auto number = std::from_chars(words[2].data(), end, mark.generation);
    if (!is_cluster_id(mark.cluster) || number.ec != std::errc() || number.ptr != end || mark.generation < 1)
        return Error(Reason::BadRequest, (data / Mark).string() + " is not what a server wrote there");
    return std::optional(std::move(mark));
}

Result<void> write_shared_mark(const fs::path& data, const SharedMark& mark) {
    return write_durably(data / Mark, mark.cluster + " " + mark.digest + " " + std::to_string(mark.generation) + "\n");
}

Result<void> remove_shared_mark(const fs::path& data) {
    std::error_code error;
    fs::remove(data / Mark, error);
    if (error && error != std::errc::no_such_file_or_directory && error != std::errc::not_a_directory)
        return Error(Reason::Io, "cannot remove " + (data / Mark).string() + ": " + error.message());
    return {};
}

}  // namespace porthole::node_join
