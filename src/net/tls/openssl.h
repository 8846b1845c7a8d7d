#pragma once  // private to this folder
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <memory>
#include <string>
#include <vector>

#include "net/peer.h"

namespace porthole::net {

/// Makes a unique_ptr free an OpenSSL object by its own function.
template <auto Free>
struct OpensslDeleter {
    template <class T>
    void operator()(T* object) const {
        Free(object);
    }
};
template <class T, auto Free>
using OpensslPointer = std::unique_ptr<T, OpensslDeleter<Free>>;

using BioPointer = OpensslPointer<BIO, BIO_free_all>;
using KeyPointer = OpensslPointer<EVP_PKEY, EVP_PKEY_free>;
using KeyContextPointer = OpensslPointer<EVP_PKEY_CTX, EVP_PKEY_CTX_free>;
using DigestContextPointer = OpensslPointer<EVP_MD_CTX, EVP_MD_CTX_free>;
using X509Pointer = OpensslPointer<X509, X509_free>;
using SslPointer = OpensslPointer<SSL, SSL_free>;
using SslContextPointer = std::shared_ptr<SSL_CTX>;

/// OpenSSL's newest error of this thread, whose error queue is then empty. "" if there is none.
std::string take_openssl_error();

/// A BIO that reads `text`, which must outlive it.
BioPointer read_only_bio(const std::string& text);
std::string bio_to_string(BIO* bio);

/// For everything that reads PEM: OpenSSL would ask at the terminal, or wait at standard input, for the password of an encrypted text.
int no_password(char*, int, int, void*);

/// All certificates of a PEM text. Error: BadRequest if there is none or one is broken.
Result<std::vector<X509Pointer>> parse_certificates(const std::string& pem);
/// Error: BadRequest.
Result<KeyPointer> parse_private_key(const std::string& pem);

SystemTime time_of(const ASN1_TIME* time);

/// Common name, organizations, fingerprint and end.
CertificateIdentity identity_of(X509* certificate);

}  // namespace porthole::net
