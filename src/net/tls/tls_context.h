#pragma once  // private to this folder
#include <mutex>

#include "net/tls/openssl.h"
#include "net/tls/tls.h"

namespace porthole::net {

/// A handshake keeps the context that is current when it begins; a reload replaces it for later ones.
class OpensslServerContext final : public TlsServerContext {
public:
    explicit OpensslServerContext(TlsServerOptions options) : options_(std::move(options)) {}
    /// Creates the context from the options; the old one stays if that fails.
    Result<void> apply(TlsServerOptions options);
    Result<void> reload(const std::string& certificate_pem, const std::string& key_pem) override;
    Result<void> reload_client_ca(const std::string& client_ca_pem) override;
    /// The context, and the authorities of clients and of proxies. Both authorities are null if no proxy authority was given: every
    /// certificate that the context verifies is then a client's.
    struct Current {
        SslContextPointer context;
        std::shared_ptr<X509_STORE> clients, proxies;
    };
    Current current() const;

private:
    TlsServerOptions options() const;

    mutable std::mutex mutex_;
    // Guarded by mutex_: connections on other loops read while one loop reloads.
    TlsServerOptions options_;
    Current current_;
};

/// A client's context, made by TlsClientContext::create().
class OpensslClientContext final : public TlsClientContext {
public:
    OpensslClientContext(SslContextPointer context, std::string server_name)
        : context_(std::move(context)), server_name_(std::move(server_name)) {}
    const SslContextPointer& current() const { return context_; }
    const std::string& server_name() const { return server_name_; }

private:
    SslContextPointer context_;
    std::string server_name_;
};

}  // namespace porthole::net
