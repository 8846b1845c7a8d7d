#include "net/tls/tls_stream.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <array>

#include "net/tls/tls_context.h"
#include "net/tls/x509.h"
#include "runtime/sync.h"

namespace porthole::net {
namespace {

/// The engine and what it stands on. OpenSSL takes from `unread` and appends to `encrypted`, without a copy between; the
/// coroutines below carry bytes between those and the lower stream, so that TLS needs nothing of its lower stream but
/// ByteStream. Shared by tasks that wait in it.
struct TlsState {
    TlsState(std::unique_ptr<ByteStream> lower, SslPointer ssl, std::string label);

    std::unique_ptr<ByteStream> lower;
    SslPointer ssl;
    std::string label;  ///< the server's name, for messages of the client; "" in the server
    bool flushing = false;
    bool closed = false;
    std::string encrypted;    ///< from OpenSSL, on its way to the lower stream
    std::string outgoing;     ///< what the lower stream is being given
    std::string_view unread;  ///< of `incoming`: what OpenSSL has not taken yet
    std::array<char, 16 << 10> incoming;
    WaitList<void> flushed;
};

// What OpenSSL calls to read and write.
int give_received(BIO* bio, char* buffer, std::size_t size, std::size_t* count) {
    auto& state = *static_cast<TlsState*>(BIO_get_data(bio));
    BIO_clear_retry_flags(bio);
    *count = state.unread.copy(buffer, size);
    state.unread.remove_prefix(*count);
    if (*count > 0) return 1;
    BIO_set_retry_read(bio);
    return 0;
}
int take_encrypted(BIO* bio, const char* bytes, std::size_t size, std::size_t* count) {
    static_cast<TlsState*>(BIO_get_data(bio))->encrypted.append(bytes, size);
    *count = size;
    return 1;
}
long control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

BIO_METHOD* buffer_method() {
    static const OpensslPointer<BIO_METHOD, BIO_meth_free> method = [] {
        OpensslPointer<BIO_METHOD, BIO_meth_free> made(BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "TLS buffers"));
        BIO_meth_set_read_ex(made.get(), give_received);
        BIO_meth_set_write_ex(made.get(), take_encrypted);
        BIO_meth_set_ctrl(made.get(), control);
        return made;
    }();
    return method.get();
}

TlsState::TlsState(std::unique_ptr<ByteStream> lower, SslPointer ssl, std::string label)
    : lower(std::move(lower)), ssl(std::move(ssl)), label(std::move(label)) {
    BIO* bio = BIO_new(buffer_method());
    CHECK(bio);
    BIO_set_data(bio, this);
    BIO_set_init(bio, 1);
    SSL_set_bio(this->ssl.get(), bio, bio);
}

using StatePointer = std::shared_ptr<TlsState>;
constexpr std::size_t LargestBatch = 64 << 10;  ///< plain bytes encrypted before they are handed to the lower stream
constexpr std::size_t KeptRoom = 16 << 10;      ///< of each buffer, in a connection that rests

Error tls_error(const TlsState& state) {
    std::string text = take_openssl_error();
    const long verified = SSL_get_verify_result(state.ssl.get());
    if (verified != X509_V_OK && !SSL_is_server(state.ssl.get())) {
        text = std::string("certificate not trusted (") + X509_verify_cert_error_string(verified) + ")";
    }
    if (text.empty()) text = "connection closed by the peer";
    return Error(Reason::Unavailable, "tls: " + text + (state.label.empty() ? "" : ": " + state.label));
}

/// Hands everything encrypted to the lower stream. A reader may have to send too (alerts, key updates), so one task
/// flushes for both and the other waits.
Task<> flush(StatePointer state) {
    while (state->flushing) CO_TRY_VOID(co_await state->flushed.wait());
    while (!state->encrypted.empty()) {
        state->outgoing.clear();
        std::swap(state->outgoing, state->encrypted);  // both keep their room
        state->flushing = true;
        auto written = co_await state->lower->write(state->outgoing);
        state->flushing = false;
        state->flushed.wake_all({});
        if (!written) co_return std::move(written);
    }
    co_return {};
}

/// Feeds the engine from the lower stream. Yields 0 at the lower stream's end.
Task<std::size_t> fill(StatePointer state) {
    if (!state->encrypted.empty() && !state->flushing) CO_TRY_VOID(co_await flush(state));
    CO_TRY(const std::size_t count, co_await state->lower->read(state->incoming));
    state->unread = {state->incoming.data(), count};
    co_return count;
}

Task<> handshake(StatePointer state) {
    for (;;) {
        ERR_clear_error();
        const int result = SSL_do_handshake(state->ssl.get());
        if (result == 1) co_return co_await flush(std::move(state));
        if (SSL_get_error(state->ssl.get(), result) != SSL_ERROR_WANT_READ) {
            const Error error = tls_error(*state);
            (void)co_await flush(state);  // the alert
            co_return error;
        }
        CO_TRY(const std::size_t count, co_await fill(state));
        if (count == 0) co_return tls_error(*state);
    }
}

Task<std::size_t> read_plain(StatePointer state, std::span<char> buffer) {
    for (;;) {
        if (state->closed) co_return Error(Reason::Unavailable, "connection closed");
        ERR_clear_error();
        std::size_t count = 0;
        const int result = SSL_read_ex(state->ssl.get(), buffer.data(), buffer.size(), &count);
        if (result == 1) co_return count;
        const int why = SSL_get_error(state->ssl.get(), result);
        if (why == SSL_ERROR_ZERO_RETURN) co_return std::size_t(0);
        if (why != SSL_ERROR_WANT_READ) co_return tls_error(*state);
        // Without a close_notify the end might be an attacker's: a cut-off connection is an error.
        CO_TRY(const std::size_t received, co_await fill(state));
        if (received == 0) co_return Error(Reason::Unavailable, "connection closed by the peer");
    }
}

Task<> write_plain(StatePointer state, std::string_view bytes) {
    while (!bytes.empty()) {
        if (state->closed) co_return Error(Reason::Unavailable, "connection closed");
        ERR_clear_error();
        for (std::size_t batch = 0; batch < LargestBatch && !bytes.empty();) {
            std::size_t count = 0;
            if (SSL_write_ex(state->ssl.get(), bytes.data(), bytes.size(), &count) != 1) co_return tls_error(*state);
            bytes.remove_prefix(count);
            batch += count;
        }
        CO_TRY_VOID(co_await flush(state));
    }
    // Thousands of connections may rest after a large answer.
    if (state->flushing || !state->encrypted.empty()) co_return {};
    for (std::string* buffer : {&state->encrypted, &state->outgoing})
        if (buffer->capacity() > KeptRoom) *buffer = std::string();
    co_return {};
}

Task<> end_plain(StatePointer state) {
    ERR_clear_error();
    SSL_shutdown(state->ssl.get());
    ERR_clear_error();
    co_return co_await flush(std::move(state));
}

class TlsStream final : public ByteStream {
public:
    explicit TlsStream(StatePointer state) : state_(std::move(state)) {}
    ~TlsStream() override { close(); }
    Task<std::size_t> read(std::span<char> buffer) override { return read_plain(state_, buffer); }
    Task<> write(std::string_view bytes) override { return write_plain(state_, bytes); }
    Task<> end_writing() override { return end_plain(state_); }
    void close() override {
        state_->closed = true;
        state_->lower->close();
    }

private:
    StatePointer state_;
};

std::string protocol_of(SSL* ssl) {
    const unsigned char* name = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(ssl, &name, &size);
    return std::string(reinterpret_cast<const char*>(name), size);
}

/// Whether the certificate that the client has shown leads to one of `roots`.
bool leads_to(SSL* ssl, X509* certificate, X509_STORE* roots) {
    const OpensslPointer<X509_STORE_CTX, X509_STORE_CTX_free> context(X509_STORE_CTX_new());
    const bool good = context && X509_STORE_CTX_init(context.get(), roots, certificate, SSL_get_peer_cert_chain(ssl)) == 1 &&
                      X509_STORE_CTX_set_default(context.get(), "ssl_client") == 1 && X509_verify_cert(context.get()) == 1;
    ERR_clear_error();
    return good;
}

/// With two authorities: whose certificate it is.
void tell_authorities(SSL* ssl, X509* certificate, const OpensslServerContext::Current& trusted, TlsConnection& connection) {
    if (!connection.certificate || !trusted.proxies) return;
    connection.certificate->of_client = leads_to(ssl, certificate, trusted.clients.get());
    connection.certificate->of_proxy = leads_to(ssl, certificate, trusted.proxies.get());
    if (connection.certificate->of_client || connection.certificate->of_proxy) return;
    connection.certificate.reset();
    connection.certificate_error = "self-signed certificate is not of a known authority";
}

/// The SHA-256 of the public key of the root by which the peer was verified; "" for none.
std::string root_of(SSL* ssl) {
    STACK_OF(X509)* chain = SSL_get0_verified_chain(ssl);
    if (!chain || sk_X509_num(chain) == 0) return "";
    unsigned char* der = nullptr;
    const int size = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(sk_X509_value(chain, sk_X509_num(chain) - 1)), &der);
    if (size <= 0) return "";
    std::string digest = net::to_hex(sha256(std::string_view(reinterpret_cast<const char*>(der), static_cast<std::size_t>(size))));
    OPENSSL_free(der);
    return digest;
}

void identify_peer(SSL* ssl, const OpensslServerContext::Current* trusted, TlsConnection& connection) {
    const X509Pointer certificate(SSL_get1_peer_certificate(ssl));
    if (!certificate || SSL_get_verify_mode(ssl) == SSL_VERIFY_NONE) return;
    if (const auto* problem = static_cast<const char*>(SSL_get_app_data(ssl))) {
        connection.certificate_error = problem;
    } else if (const long result = SSL_get_verify_result(ssl); result != X509_V_OK) {
        connection.certificate_error = X509_verify_cert_error_string(result);
    } else {
        connection.certificate = identity_of(certificate.get());
        connection.certificate->authority = root_of(ssl);
        if (trusted) tell_authorities(ssl, certificate.get(), *trusted, connection);
    }
}

/// `trusted` is the server's, and null in a client.
Task<TlsConnection> finish_handshake(StatePointer state, std::shared_ptr<const OpensslServerContext::Current> trusted = nullptr) {
    CO_TRY_VOID(co_await handshake(state));
    TlsConnection connection;
    connection.protocol = protocol_of(state->ssl.get());
    identify_peer(state->ssl.get(), trusted.get(), connection);
    connection.stream = std::make_unique<TlsStream>(std::move(state));
    co_return connection;
}

bool is_ip_address(const std::string& host) {
    const OpensslPointer<ASN1_OCTET_STRING, ASN1_OCTET_STRING_free> address(a2i_IPADDRESS(host.c_str()));
    ERR_clear_error();
    return address != nullptr;
}

/// Names the server: asked for by SNI, and required of its certificate.
void expect_server(SSL* ssl, const std::string& name) {
    if (is_ip_address(name)) {
        X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name.c_str());
        return;
    }
    SSL_set_tlsext_host_name(ssl, name.c_str());
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    SSL_set1_host(ssl, name.c_str());
}

}  // namespace

Task<TlsConnection> tls_accept(std::unique_ptr<ByteStream> lower, std::shared_ptr<const TlsServerContext> context) {
    const auto& openssl = static_cast<const OpensslServerContext&>(*context);
    const auto trusted = std::make_shared<const OpensslServerContext::Current>(openssl.current());
    auto state = std::make_shared<TlsState>(std::move(lower), SslPointer(SSL_new(trusted->context.get())), "");
    SSL_set_accept_state(state->ssl.get());
    co_return co_await finish_handshake(std::move(state), trusted);
}

Task<TlsConnection> tls_connect(std::unique_ptr<ByteStream> lower, std::shared_ptr<const TlsClientContext> context, std::string host,
                                std::vector<std::string> protocols) {
    const auto& openssl = static_cast<const OpensslClientContext&>(*context);
    if (!openssl.server_name().empty()) host = openssl.server_name();
    auto state = std::make_shared<TlsState>(std::move(lower), SslPointer(SSL_new(openssl.current().get())), host);
    SSL* ssl = state->ssl.get();
    SSL_set_connect_state(ssl);
    expect_server(ssl, host);
    std::string offered;
    for (const std::string& protocol : protocols) offered += static_cast<char>(protocol.size()) + protocol;
    if (!offered.empty()) {
        SSL_set_alpn_protos(ssl, reinterpret_cast<const unsigned char*>(offered.data()), static_cast<unsigned>(offered.size()));
    }
    co_return co_await finish_handshake(std::move(state));
}

}  // namespace porthole::net
