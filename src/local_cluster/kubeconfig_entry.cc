#include "local_cluster/kubeconfig_entry.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "client/kubeconfig.h"
#include "local_cluster/state/cluster.h"
#include "net/tls/x509.h"
#include "node_join/ca_rotation.h"
#include "node_join/pki.h"
#include "node_join/server_list.h"
#include "runtime/files/durable_file.h"
#include "runtime/files/file_system.h"
#include "schema/json/json.h"
#include "schema/value.h"

namespace porthole::local_cluster {

using namespace node_join;
namespace {

using schema::Value;

constexpr const char* Name = "porthole";

std::filesystem::path note_file(const DataDir& data) { return data.root() / "kubeconfig-entry.json"; }

/// While the authority is rotated, the server writes the file again a moment after the start. Error: Conflict until then: a copy made
/// before would stop working at the end of the rotation.
Result<void> check_has_new_authority(const DataDir& data) {
    TRY(const auto rotation, ca_rotation(data.pki()));
    if (!rotation) return {};
    const auto files = make_file_system();
    TRY(const auto own, client::load_kubeconfig(*files, {data.admin_kubeconfig().string()}));
    TRY(const auto config, own.resolve(*files, Name));
    TRY(const auto trusted, authority_ids(config.ca_pem));
    TRY(const std::string ca_pem, read_file(data.pki() / "ca.crt"));
    TRY(const auto authority, net::parse_certificate(ca_pem));
    TRY(const auto certificate, net::parse_certificate(config.certificate_pem));
    if (std::ranges::find(trusted, rotation->current) != trusted.end() && certificate.issuer_common_name == authority.subject.common_name)
        return {};
    return Error(Reason::Conflict,
                 "admin.kubeconfig does not have the new certificate authority yet; a running server writes it within a "
                 "minute of `porthole certs rotate ca --start`: try again then");
}

/// {"path": …, "previousContext": …} of the last enter_kubeconfig; empty where there was none.
Value read_note(const DataDir& data) {
    const auto text = read_file(note_file(data));
    const auto note = text ? schema::parse_json(*text) : Result<Value>(text.error());
    return note ? *note : Value::object();
}

}  // namespace

Result<void> write_admin_kubeconfig(const DataDir& data, const std::string& server) {
    TRY(const Pki pki, Pki::load(data.pki()));
    client::KubeconfigEntry entry{
        .name = Name, .server = server, .ca_pem = pki.ca_pem, .certificate_pem = pki.admin.certificate_pem, .key_pem = pki.admin.key_pem};
    if (const auto cluster = Cluster::load(data); cluster && cluster->has_several_servers()) {
        entry.server = cluster->server_url();
        entry.server_name = ServerName;
    }
    return client::add_to_kubeconfig(*make_file_system(), data.admin_kubeconfig(), entry);
}

Result<std::string> admin_kubeconfig(const DataDir& data) {
    std::error_code code;
    if (!std::filesystem::exists(data.admin_kubeconfig(), code)) {
        if (code) return Error(Reason::Forbidden, "cannot read " + data.root().string() + ": " + code.message() + "; run it as root");
        return Error(Reason::NotFound, "no cluster found in " + data.root().string() + "; start one with `porthole up" + data.flag() + "`");
    }
    TRY_VOID(check_has_new_authority(data));
    return read_file(data.admin_kubeconfig());
}

Result<bool> is_admin_current(const DataDir& data) {
    TRY(const Pki pki, Pki::load(data.pki()));
    TRY(const auto authority, net::parse_certificate(pki.ca_pem));
    TRY(const auto own, net::parse_certificate(pki.admin.certificate_pem));
    return own.issuer_common_name == authority.subject.common_name;
}

Result<void> enter_kubeconfig(const DataDir& data, const std::string& path) {
    const auto files = make_file_system();
    TRY(const auto own, client::load_kubeconfig(*files, {data.admin_kubeconfig().string()}));
    TRY(const auto config, own.resolve(*files, Name));
    const client::KubeconfigEntry entry{.name = Name,
                                        .server = config.server,
                                        .server_name = config.server_name,
                                        .ca_pem = config.ca_pem,
                                        .certificate_pem = config.certificate_pem,
                                        .key_pem = config.key_pem};
    const auto before = client::load_kubeconfig(*files, {path});
    std::string previous = before ? before->current_context() : "";
    // Entered twice, the second time finds our own context: what counts is what was there before the first.
    const Value note = read_note(data);
    if (previous == Name) previous = note.string_at({"path"}) == path ? note.string_at({"previousContext"}) : "";
    TRY_VOID(client::add_to_kubeconfig(*files, path, entry));
    const Value fresh = Value::object({{"path", std::filesystem::absolute(path).string()}, {"previousContext", previous}});
    return write_durably(note_file(data), schema::to_json(fresh) + "\n");
}

std::string kubectl_file() {
    const auto variable = [](const char* name) { return std::string(std::getenv(name) ? std::getenv(name) : ""); };
    return client::kubeconfig_paths(variable("KUBECONFIG"), variable("HOME")).front();
}

Result<void> check_kubeconfig(const std::string& path) {
    const auto files = make_file_system();
    TRY_VOID(files->create_directories(parent_path(path), 0700));
    TRY_VOID(client::load_kubeconfig(*files, {path}));
    return {};
}

Result<void> leave_kubeconfig(const DataDir& data) {
    const Value note = read_note(data);
    const std::string path(note.string_at({"path"}));
    if (path.empty()) return {};
    const auto files = make_file_system();
    TRY(const Pki pki, Pki::load(data.pki()));
    TRY(const auto config, client::load_kubeconfig(*files, {path}));
    const auto entry = config.resolve(*files, Name);
    if (entry && entry->ca_pem == pki.ca_pem)
        TRY_VOID(client::remove_from_kubeconfig(*files, path, Name, std::string(note.string_at({"previousContext"}))));
    std::error_code error;
    std::filesystem::remove(note_file(data), error);
    return {};
}

}  // namespace porthole::local_cluster
