#include "node_join/ca_rotation.h"

#include "base/strings.h"
#include "base/time/time.h"
#include "net/tls/x509.h"
#include "node_join/pki_files.h"
#include "runtime/files/durable_file.h"
#include "schema/json/json.h"
#include "schema/value.h"

namespace porthole::node_join {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using net::CertificateAuthority;
using schema::Value;

// In the order of their lives. A rotation is in progress while Started is there; before that, those before it mean nothing.
constexpr const char *Next = "ca-next", *Cross = "ca-cross.crt", *Previous = "ca-previous.crt", *Started = "ca-rotation-started",
                     *Sightings = "ca-clients.json", *Finishing = "ca-rotation-finishing";

Result<void> drop(const fs::path& path) {
    std::error_code error;
    fs::remove(path, error);
    return error ? Result<void>(Error(Reason::Io, "cannot remove " + path.string() + ": " + error.message())) : Result<void>();
}

/// From the moment that Started is written: both authorities are trusted, and the new one signs.
Result<void> complete_start(const fs::path& folder) {
    TRY(const KeyPair next, read_pair(folder, Next));
    TRY(const bool has_previous, has_file(folder / Previous));
    if (!has_previous) {  // an earlier version began it
        TRY(const std::string present, read_file(folder / "ca.crt"));
        TRY_VOID(write_durably(folder / Previous, present, 0644));
    }
    TRY(const std::string old, read_file(folder / Previous));
    TRY_VOID(write_pair(folder, "ca", {next.certificate_pem + old, next.key_pem}));
    // The key first: while it is there, so is its certificate.
    TRY_VOID(drop(folder / (std::string(Next) + ".key")));
    return drop(folder / (std::string(Next) + ".crt"));
}

/// From the moment that Finishing is written: only the new authority is left.
Result<void> complete_finish(const fs::path& folder) {
    TRY(const std::string both, read_file(folder / "ca.crt"));
    const auto parts = split_certificates(both);
    if (parts.empty()) return Error(Reason::BadRequest, "no certificate in " + (folder / "ca.crt").string());
    TRY_VOID(write_durably(folder / "ca.crt", parts.front(), 0644));
    for (const char* name : {Previous, Cross, Sightings, Started}) TRY_VOID(drop(folder / name));
    return drop(folder / Finishing);
}

}  // namespace

std::vector<std::string> split_certificates(const std::string& pem) {
    constexpr std::string_view Begin = "-----BEGIN CERTIFICATE-----", End = "-----END CERTIFICATE-----";
    std::vector<std::string> parts;
    for (std::size_t begin = pem.find(Begin); begin != pem.npos; begin = pem.find(Begin, begin)) {
        const std::size_t end = pem.find(End, begin);
        if (end == pem.npos) break;
        parts.push_back(pem.substr(begin, end + End.size() - begin) + "\n");
        begin = end;
    }
    return parts;
}

Result<void> resume_ca_rotation(const fs::path& folder) {
    TRY(const bool finishing, has_file(folder / Finishing));
    if (finishing) return complete_finish(folder);
    const fs::path next = folder / (std::string(Next) + ".key");
    TRY(const bool started, has_file(folder / Started));
    TRY(const bool starting, has_file(next));
    if (!started || !starting) return {};
    auto completed = complete_start(folder);
    if (completed) return {};
    // Another program may have completed it between two of our steps.
    TRY(const bool left, has_file(next));
    return left ? completed : Result<void>();
}

Result<std::optional<CaRotation>> ca_rotation(const fs::path& folder) {
    TRY_VOID(resume_ca_rotation(folder));
    TRY(const bool in_progress, has_file(folder / Started));
    if (!in_progress) return std::optional<CaRotation>();
    TRY(const std::string text, read_file(folder / Started));
    TRY(const Timestamp started, Timestamp::parse(trim(text)));
    TRY(const std::string pem, read_file(folder / "ca.crt"));
    TRY(const auto ids, authority_ids(pem));
    if (ids.size() < 2) return Error(Reason::BadRequest, (folder / "ca.crt").string() + " must hold two authorities while one is rotated");
    return std::optional(CaRotation{started.to_system_time(), ids[0], ids[1]});
}

Result<void> start_ca_rotation(const fs::path& folder, SystemTime now) {
    TRY(const bool has_authority, has_file(folder / "ca.crt"));
    if (!has_authority) return Error(Reason::NotFound, "no certificates found in " + folder.string());
    TRY(const auto running, ca_rotation(folder));
    if (running)
        return Error(Reason::AlreadyExists, "a rotation of the authority is in progress; `porthole certs rotate ca --status` shows it");
    TRY(const KeyPair old, read_pair(folder, "ca"));
    TRY(const auto authority, CertificateAuthority::load(old.certificate_pem, old.key_pem));
    // Of another name: verifiers that find an issuer by its name must not take one for the other.
    const std::string name = "porthole-ca-" + std::to_string(Timestamp(now).seconds());
    const auto next = CertificateAuthority::create(name, now - ClockSkew, now + AuthorityLife);
    TRY(const auto info, net::parse_certificate(next.certificate_pem()));
    TRY(const auto old_info, net::parse_certificate(old.certificate_pem));
    TRY(const std::string cross,
        authority.issue(info.public_der, info.subject, {.not_before = now - ClockSkew, .not_after = old_info.not_after, .is_ca = true}));
    TRY_VOID(write_pair(folder, Next, {next.certificate_pem(), next.key_pem()}));
    TRY_VOID(write_durably(folder / Cross, cross, 0644));
    TRY_VOID(drop(folder / Sightings));  // a server may have written it a moment after the end of the last rotation
    // Before the start: afterwards two programs may complete it at a time, and one must not take the other's ca.crt for the old one.
    TRY_VOID(write_durably(folder / Previous, old.certificate_pem, 0644));
    TRY_VOID(write_durably(folder / Started, Timestamp(now).to_string() + "\n"));
    return resume_ca_rotation(folder);
}

Result<void> finish_ca_rotation(const fs::path& folder) {
    TRY(const auto running, ca_rotation(folder));
    if (!running)
        return Error(Reason::NotFound, "no rotation of the authority is in progress; `porthole certs rotate ca --start` begins one");
    TRY_VOID(write_durably(folder / Finishing, ""));
    return resume_ca_rotation(folder);
}

Result<std::string> cross_certificate(const fs::path& folder) {
    TRY(const bool in_progress, has_file(folder / Started));
    if (!in_progress) return std::string();
    return read_file(folder / Cross);
}

Result<std::vector<std::string>> authority_ids(const std::string& pem) {
    std::vector<std::string> ids;
    for (const std::string& one : split_certificates(pem)) {
        TRY(const auto info, net::parse_certificate(one));
        ids.push_back(net::to_hex(net::sha256(info.public_der)));
    }
    return ids;
}

Result<ClientSightings> read_sightings(const fs::path& folder) {
    ClientSightings sightings;
    TRY(const bool recorded, has_file(folder / Sightings));
    if (!recorded) return sightings;
    TRY(const std::string text, read_file(folder / Sightings));
    TRY(const Value document, schema::parse_json(text));
    if (!document.is_object()) return Error(Reason::BadRequest, (folder / Sightings).string() + " is not an object");
    for (const auto& member : document.as_object()) {
        TRY(const Timestamp time, Timestamp::parse(member.value.string_at({"time"})));
        sightings[member.key] = {std::string(member.value.string_at({"authority"})), time.to_system_time()};
    }
    return sightings;
}

Result<void> write_sightings(const fs::path& folder, const ClientSightings& sightings) {
    Value document = Value::object();
    for (const auto& [name, seen] : sightings)
        document[name] = Value::object({{"authority", seen.authority}, {"time", Timestamp(seen.time).to_string()}});
    return write_durably(folder / Sightings, schema::to_json(document) + "\n");
}

std::vector<std::string> finish_blockers(const CaRotation& rotation, const ClientSightings& sightings,
                                         const std::vector<std::string>& nodes, bool published, SystemTime now) {
    std::vector<std::string> blockers;
    for (const auto& [name, seen] : sightings) {
        if (seen.authority != rotation.previous) continue;
        blockers.push_back(name + " last used a certificate of the old authority, at " + Timestamp(seen.time).to_string() +
                           (name.starts_with("system:node:") ? "; nodes renew theirs within some minutes"
                                                             : "; give it a new one (administrators: porthole kubeconfig)"));
    }
    for (const std::string& node : nodes) {
        if (!sightings.contains("system:node:" + node))
            blockers.push_back("node " + node + " has not connected since the start of the rotation; start it, or delete the node");
    }
    if (!published) blockers.push_back("not every namespace has the new authority in its ConfigMap kube-root-ca.crt yet; wait a moment");
    if (now < rotation.started + PodsFollow)
        blockers.push_back("running pods may not have the new authority before " + Timestamp(rotation.started + PodsFollow).to_string() +
                           "; restart programs that read it only at their start before that");
    return blockers;
}

}  // namespace porthole::node_join
