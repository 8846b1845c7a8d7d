#include "net/tls/tls_context.h"

#include <openssl/err.h>

namespace porthole::net {
namespace {

// Forward secrecy and authenticated encryption only.
constexpr char CiphersOfTls12[] = "ECDHE+AESGCM:ECDHE+CHACHA20";

/// h2 if the client offers it, else http/1.1, else nothing.
int choose_protocol(SSL*, const unsigned char** out, unsigned char* out_size, const unsigned char* offered, unsigned size, void*) {
    static constexpr unsigned char Ours[] = "\x02h2\x08http/1.1";
    const int chosen = SSL_select_next_proto(const_cast<unsigned char**>(out), out_size, Ours, sizeof(Ours) - 1, offered, size);
    return chosen == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
}

/// Lets every client pass; the application data tells afterwards what was wrong first with its chain.
int accept_any(int verified, X509_STORE_CTX* store) {
    auto* ssl = static_cast<SSL*>(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
    if (!verified && !SSL_get_app_data(ssl))
        SSL_set_app_data(ssl, const_cast<char*>(X509_verify_cert_error_string(X509_STORE_CTX_get_error(store))));
    return 1;
}

SslContextPointer make_context(const SSL_METHOD* method) {
    SslContextPointer context(SSL_CTX_new(method), SSL_CTX_free);
    CHECK(context);
    SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
    SSL_CTX_set_cipher_list(context.get(), CiphersOfTls12);
    // A resumed session would carry an identity past its certificate's end.
    SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
    SSL_CTX_set_options(context.get(), SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_num_tickets(context.get(), 0);
    SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
    return context;
}

Result<void> use_certificate(SSL_CTX* context, const std::string& certificate_pem, const std::string& key_pem) {
    TRY(auto chain, parse_certificates(certificate_pem));
    TRY(const auto key, parse_private_key(key_pem));
    if (SSL_CTX_use_certificate(context, chain.front().get()) != 1) {
        return Error(Reason::BadRequest, "tls: certificate refused: " + take_openssl_error());
    }
    for (std::size_t i = 1; i < chain.size(); ++i) SSL_CTX_add0_chain_cert(context, chain[i].release());
    if (SSL_CTX_use_PrivateKey(context, key.get()) != 1 || SSL_CTX_check_private_key(context) != 1) {
        ERR_clear_error();
        return Error(Reason::BadRequest, "tls: the private key does not fit the certificate");
    }
    return {};
}

Result<void> add_roots(X509_STORE* store, const std::string& ca_pem) {
    TRY(const auto roots, parse_certificates(ca_pem));
    for (const X509Pointer& root : roots) X509_STORE_add_cert(store, root.get());
    // As in Go, what is listed is trusted itself, also where another authority has signed it: a bundle may be a server's own certificate.
    X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
    ERR_clear_error();
    return {};
}

Result<void> trust(SSL_CTX* context, const std::string& ca_pem) { return add_roots(SSL_CTX_get_cert_store(context), ca_pem); }

/// Of an authority's certificates; empty for "".
Result<std::shared_ptr<X509_STORE>> store_of(const std::string& ca_pem) {
    std::shared_ptr<X509_STORE> store(X509_STORE_new(), X509_STORE_free);
    if (!ca_pem.empty()) TRY_VOID(add_roots(store.get(), ca_pem));
    return store;
}

Result<SslContextPointer> make_server_context(const TlsServerOptions& options) {
    SslContextPointer context = make_context(TLS_server_method());
    if (options.policy.only_tls13) SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION);
    const std::string& ciphers = options.policy.tls12_ciphers;
    if (!ciphers.empty() && SSL_CTX_set_cipher_list(context.get(), ciphers.c_str()) != 1)
        return Error(Reason::BadRequest, "tls: ciphers refused: " + take_openssl_error());
    TRY_VOID(use_certificate(context.get(), options.certificate_pem, options.key_pem));
    SSL_CTX_set_alpn_select_cb(context.get(), choose_protocol, nullptr);
    for (const std::string& pem : {options.client_ca_pem, options.proxy_ca_pem}) {
        if (pem.empty()) continue;
        TRY_VOID(trust(context.get(), pem));
        TRY(const auto roots, parse_certificates(pem));
        for (const X509Pointer& root : roots) SSL_CTX_add_client_CA(context.get(), root.get());
    }
    if (options.client_ca_pem.empty() && options.proxy_ca_pem.empty()) return context;
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, accept_any);
    return context;
}

}  // namespace

Result<void> OpensslServerContext::apply(TlsServerOptions options) {
    Current fresh;
    TRY(fresh.context, make_server_context(options));
    if (!options.proxy_ca_pem.empty()) {
        TRY(fresh.clients, store_of(options.client_ca_pem));
        TRY(fresh.proxies, store_of(options.proxy_ca_pem));
    }
    const std::lock_guard lock(mutex_);
    options_ = std::move(options);
    current_ = std::move(fresh);
    return {};
}

TlsServerOptions OpensslServerContext::options() const {
    const std::lock_guard lock(mutex_);
    return options_;
}

OpensslServerContext::Current OpensslServerContext::current() const {
    const std::lock_guard lock(mutex_);
    return current_;
}

Result<void> OpensslServerContext::reload(const std::string& certificate_pem, const std::string& key_pem) {
    TlsServerOptions changed = options();
    changed.certificate_pem = certificate_pem;
    changed.key_pem = key_pem;
    return apply(std::move(changed));
}

Result<void> OpensslServerContext::reload_client_ca(const std::string& client_ca_pem) {
    TlsServerOptions changed = options();
    changed.client_ca_pem = client_ca_pem;
    return apply(std::move(changed));
}

Result<std::shared_ptr<TlsServerContext>> TlsServerContext::create(const TlsServerOptions& options) {
    auto context = std::make_shared<OpensslServerContext>(options);
    TRY_VOID(context->apply(options));
    return context;
}

Result<std::shared_ptr<const TlsClientContext>> TlsClientContext::create(const TlsClientOptions& options) {
    SslContextPointer context = make_context(TLS_client_method());
    if (!options.certificate_pem.empty()) {
        TRY_VOID(use_certificate(context.get(), options.certificate_pem, options.key_pem));
    }
    if (options.insecure_skip_verify) {
        SSL_CTX_set_verify(context.get(), SSL_VERIFY_NONE, nullptr);
    } else {
        SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
        if (options.ca_pem.empty()) {
            SSL_CTX_set_default_verify_paths(context.get());
        } else {
            TRY_VOID(trust(context.get(), options.ca_pem));
        }
    }
    return std::make_shared<OpensslClientContext>(std::move(context), options.server_name);
}

}  // namespace porthole::net
