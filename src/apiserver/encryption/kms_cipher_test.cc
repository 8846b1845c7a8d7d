#include "apiserver/encryption/kms_cipher.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>
#include <thread>

#include "apiserver/encryption/kms_messages.h"
#include "net/grpc/grpc.h"
#include "net/http/http_server.h"
#include "net/tls/crypto.h"
#include "runtime/asio_loop.h"

namespace porthole::apiserver {
namespace {

/// A plug-in on a thread of its own, which "encrypts" by turning bytes around.
class Plugin {
public:
    Plugin() : path("/tmp/porthole-kms-" + std::to_string(::getpid()) + ".sock") {
        const std::string service = "/v2.KeyManagementService/";
        grpc_.add(service + "Status", [this](std::string) { return status(); });
        grpc_.add(service + "Encrypt", [this](std::string request) { return encrypt(std::move(request)); });
        grpc_.add(service + "Decrypt", [this](std::string request) { return decrypt(std::move(request)); });
        EXPECT_TRUE(server_.listen_unix(path));
        thread_ = std::thread([this] { loop_.run(); });
    }
    ~Plugin() {
        loop_.post([this] {
            context_ = std::make_unique<TaskContext>(loop_);
            start_task(server_.close(), *context_, [this](Result<void>) { loop_.stop(); });
        });
        thread_.join();
        ::unlink(path.c_str());
    }

    const std::string path;
    std::atomic<int> encrypted = 0, decrypted = 0;
    std::atomic<bool> well = true, refuses = false;

private:
    static std::string field(const std::string& bytes, protozero::pbf_tag_type tag) {
        protozero::pbf_reader reader(bytes);
        while (reader.next()) {
            if (reader.tag() == tag) return reader.get_bytes();
            reader.skip();
        }
        return "";
    }
    Task<std::string> status() {
        std::string bytes;
        protozero::pbf_writer writer(bytes);
        writer.add_string(1, "v2");
        writer.add_string(2, well ? "ok" : "tired");
        writer.add_string(3, "key-1");
        co_return bytes;
    }
    Task<std::string> encrypt(std::string request) {
        ++encrypted;
        std::string seed = field(request, 1), bytes;
        EXPECT_FALSE(field(request, 2).empty()) << "a uid";
        std::reverse(seed.begin(), seed.end());
        protozero::pbf_writer writer(bytes);
        writer.add_bytes(1, seed);
        writer.add_string(2, "key-1");
        std::string annotation;
        protozero::pbf_writer entry(annotation);
        entry.add_string(1, "version.example.com");
        entry.add_bytes(2, "1");
        writer.add_message(3, annotation);
        co_return bytes;
    }
    Task<std::string> decrypt(std::string request) {
        ++decrypted;
        if (refuses) co_return Error(Reason::Forbidden, "the key has been destroyed");
        EXPECT_EQ(field(request, 3), "key-1");
        EXPECT_FALSE(field(request, 4).empty()) << "what Encrypt had added";
        std::string seed = field(request, 1), bytes;
        std::reverse(seed.begin(), seed.end());
        protozero::pbf_writer writer(bytes);
        writer.add_bytes(1, seed);
        co_return bytes;
    }

    AsioLoop loop_;
    net::GrpcHandler grpc_;
    net::HttpServer server_{loop_, grpc_, {}, Logger(make_null_sink(), "kms")};
    std::unique_ptr<TaskContext> context_;
    std::thread thread_;
};

std::shared_ptr<StorageCipher> cipher_of(const Plugin& plugin) {
    return make_kms_cipher({.kind = EncryptionProvider::Kind::Kms, .name = "test", .socket = plugin.path}, Logger(make_null_sink(), "kms"));
}

TEST(KmsCipherTest, OneCallServesAllWritesAndOneAllReads) {
    Plugin plugin;
    std::string first, second;
    EncryptionKeyId key;
    {
        const auto cipher = cipher_of(plugin);
        ASSERT_TRUE(cipher->ready());
        first = cipher->seal("one", "/a")->bytes;
        second = cipher->seal("two", "/b")->bytes;
        key = cipher->write_key();
        EXPECT_EQ(cipher->open(first, "/a")->bytes, "one") << "of the seed that is in use";
        EXPECT_EQ(plugin.encrypted, 1);
        EXPECT_EQ(plugin.decrypted, 0);
    }
    const auto again = cipher_of(plugin);
    EXPECT_EQ(again->open(first, "/a")->bytes, "one");
    EXPECT_EQ(again->open(second, "/b")->bytes, "two");
    EXPECT_EQ(plugin.decrypted, 1) << "both have one seed";
    EXPECT_EQ(again->open(first, "/a")->key, key);
    EXPECT_EQ(again->write_key(), key) << "the plug-in's key is the same, so nothing is stale";
    EXPECT_EQ(again->open(first, "/b").error().message, "cipher: message authentication failed");
}

TEST(KmsCipherTest, SoManySeedsAreRemembered) {
    Plugin plugin;
    const auto cipher = cipher_of(plugin);
    const auto open = [&](int number) {
        std::string key = std::to_string(number) + std::string(32, 'k');
        key.resize(32);
        const std::string encrypted(key.rbegin(), key.rend());
        const kms::EncryptedObject object{
            .data = net::seal_aes_gcm(key, "value", "/a"),
            .source = {.ciphertext = encrypted, .key_id = "key-1", .annotations = {{"version.example.com", "1"}}}};
        const auto opened = cipher->open(kms::encode_object(object), "/a");
        ASSERT_TRUE(opened) << opened.error().message;
        EXPECT_EQ(opened->bytes, "value");
    };
    for (int i = 0; i < 4096; ++i) open(i);
    open(0);
    EXPECT_EQ(plugin.decrypted, 4096) << "it is remembered";
    open(4096);
    open(0);
    EXPECT_EQ(plugin.decrypted, 4097) << "it was used a moment ago";
    open(1);
    EXPECT_EQ(plugin.decrypted, 4098) << "the least recently used one was forgotten";
    EXPECT_EQ(cipher->open(cipher->seal("own", "/b")->bytes, "/b")->bytes, "own");
}

TEST(KmsCipherTest, APluginThatIsNotWellRefusesWrites) {
    Plugin plugin;
    plugin.well = false;
    const auto cipher = cipher_of(plugin);
    EXPECT_FALSE(cipher->ready());
    EXPECT_EQ(cipher->seal("one", "/a").error().reason, Reason::InternalError);
    EXPECT_EQ(plugin.encrypted, 0);
}

TEST(KmsCipherTest, APluginThatRefusesToDecryptIsQuoted) {
    Plugin plugin;
    const std::string sealed = cipher_of(plugin)->seal("one", "/a")->bytes;
    plugin.refuses = true;
    EXPECT_EQ(cipher_of(plugin)->open(sealed, "/a").error().message, "failed to decrypt DEK, error: the key has been destroyed");
}

TEST(KmsCipherTest, APluginThatHasFailedIsNotAskedForEachValue) {
    Plugin plugin;
    const std::string sealed = cipher_of(plugin)->seal("one", "/a")->bytes, other = cipher_of(plugin)->seal("one", "/a")->bytes;
    plugin.refuses = true;
    const auto cipher = cipher_of(plugin);
    const int before = plugin.decrypted;
    for (int i = 0; i < 10; ++i) EXPECT_FALSE(cipher->open(sealed, "/a"));
    EXPECT_EQ(plugin.decrypted, before + 1) << "the seed was refused a moment ago";
    plugin.refuses = false;
    EXPECT_EQ(cipher->open(other, "/a")->bytes, "one") << "other seeds are asked for";
}

TEST(KmsCipherTest, APluginThatIsAwayIsAnErrorOfEachCall) {
    const auto cipher = make_kms_cipher({.kind = EncryptionProvider::Kind::Kms, .name = "test", .socket = "/nonexistent/kms.sock"},
                                        Logger(make_null_sink(), "kms"));
    EXPECT_FALSE(cipher->ready());
    EXPECT_FALSE(cipher->seal("one", "/a"));
}

TEST(KmsMessages, AnEnvelopeIsCheckedAsUpstreamChecksIt) {
    using namespace kms;
    const EncryptedObject good{.data = "d",
                               .source = {.ciphertext = "s", .key_id = "k", .annotations = {{"a.b", "c"}}},
                               .source_type = EncryptedObject::Source::HkdfSeed};
    const auto decoded = decode_object(encode_object(good));
    ASSERT_TRUE(decoded);
    EXPECT_EQ(decoded->source.annotations, good.source.annotations);
    EXPECT_EQ(decoded->source_type, good.source_type);
    const auto error = [&](auto change) {
        EncryptedObject object = good;
        change(object);
        const auto result = decode_object(encode_object(object));
        return result ? "" : result.error().message;
    };
    EXPECT_EQ(error([](auto& object) { object.data.clear(); }), "encrypted data is empty");
    EXPECT_EQ(error([](auto& object) { object.source.key_id.clear(); }), "failed to validate key id: keyID is empty");
    EXPECT_EQ(error([](auto& object) { object.source.ciphertext.assign(2000, 'x'); }),
              "failed to validate encrypted DEK source: encrypted DEK source is 2000 bytes, which exceeds the max size of 1024");
    EXPECT_FALSE(decode_object("\x0a\x05x"));
    EXPECT_FALSE(decode_object("\x08\x05"));
}

}  // namespace
}  // namespace porthole::apiserver
