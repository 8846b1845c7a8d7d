#pragma once  // private to this folder
#include <mutex>

#include "net/openssl.h"
#include "net/tls.h"

namespace porthole::net {

class OpensslServerContext final : public TlsServerContext {
public:
    explicit OpensslServerContext(TlsServerOptions options) : options_(std::move(options)) {}
    /// Builds the context from the options; the old one stays if that fails.
    Result<void> apply(TlsServerOptions options);
    Result<void> reload(const std::string& certificate_pem, const std::string& key_pem) override;
    Result<void> reload_client_ca(const std::string& client_ca_pem) override;
    SslContextPointer current() const;

private:
    TlsServerOptions options() const;

    mutable std::mutex mutex_;
    // Guarded by mutex_; connections on other loops read while one loop reloads.
    TlsServerOptions options_;
    SslContextPointer context_;
};

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
