#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/files/file_system.h"
#include "schema/value.h"

namespace porthole::client {

/// A server's address and the credentials for it, ready to use: the files that the configuration names have been read.
struct ClientConfig {
    std::string server;       ///< "https://host:port[/prefix]"
    std::string ca_pem;       ///< "" means the system's roots
    std::string server_name;  ///< expected in the certificate; "" means the server's host
    bool insecure_skip_verify = false;
    std::string certificate_pem, key_pem;  ///< client certificate, or ""
    std::string token;
    std::string token_file;    ///< read again from time to time; takes precedence over `token`
    std::string namespace_;    ///< "default" unless the context says otherwise
    bool global_only = false;  ///< a user named the host, so loopback and link-local addresses are refused
    bool direct = false;       ///< never through a proxy that the environment names: a server of this machine
    bool operator==(const ClientConfig&) const = default;
};

/// The parts of ClientConfig::server.
struct ServerUrl {
    bool tls = true;
    std::string host;
    std::uint16_t port = 443;
    std::string prefix;  ///< of every path; "" or "/something"

    /// For the header Host: "host:port", "[::1]:6443".
    std::string authority() const { return (host.contains(':') ? "[" + host + "]" : host) + ":" + std::to_string(port); }
};
/// Error: BadRequest.
Result<ServerUrl> parse_server_url(const std::string& text);

/// A cluster, a user and a context of one name, as `porthole up` adds them.
struct KubeconfigEntry {
    std::string name;
    std::string server;
    std::string server_name = "";  ///< as in ClientConfig
    std::string ca_pem, certificate_pem, key_pem, token;
};

/// A kubeconfig document. Unknown fields are preserved.
class Kubeconfig {
public:
    /// An empty one.
    Kubeconfig();
    /// Error: BadRequest with what is wrong; `text` may be empty. YAML or JSON.
    static Result<Kubeconfig> parse(std::string_view text);
    std::string text() const;

    std::string current_context() const;
    std::vector<std::string> contexts() const;

    /// Adds the entries of `other` whose names are not in this kubeconfig; entries with the same name are not changed. Relative paths in
    /// `other` are relative to `folder`, the directory of its file.
    void merge(const Kubeconfig& other, const std::string& folder);
    /// Adds or replaces the cluster, the user and the context of that name and makes the context the current one.
    void set_entry(const KubeconfigEntry& entry);
    /// Removes the three; the current context is unset if it was this one. True when anything was there.
    bool remove_entry(const std::string& name);
    /// Error: NotFound.
    Result<void> set_current_context(const std::string& name);

    /// The configuration of `context` ("" for the current one). Error: NotFound, BadRequest; Io for files that cannot be read.
    Result<ClientConfig> resolve(FileSystem& files, const std::string& context = "") const;

private:
    explicit Kubeconfig(schema::Value document);
    schema::Value document_;
};

/// The files that kubectl would read: those in `kubeconfig_variable` (the value of KUBECONFIG, separated by ":"), otherwise ~/.kube/config.
std::vector<std::string> kubeconfig_paths(const std::string& kubeconfig_variable, const std::string& home);
/// All of them merged; missing files count as empty. Error: BadRequest or Io, with the file's name.
Result<Kubeconfig> load_kubeconfig(FileSystem& files, const std::vector<std::string>& paths);
/// One that must be there, as --kubeconfig names it. Errors: NotFound, BadRequest or Io, naming the file.
Result<Kubeconfig> read_kubeconfig(FileSystem& files, const std::string& path);

/// Replaces one file atomically, with mode 0600, under kubectl's own lock ("<path>.lock"). Errors: AlreadyExists immediately if another
/// program holds the lock, BadRequest for a file that cannot be parsed, Io.
Result<void> add_to_kubeconfig(FileSystem& files, const std::string& path, const KubeconfigEntry& entry);
/// If this was the current context, `fallback` becomes current, provided that it exists.
Result<void> remove_from_kubeconfig(FileSystem& files, const std::string& path, const std::string& name, const std::string& fallback = "");

}  // namespace porthole::client
