#include "apiserver/encryption/kms_cipher.h"

#include <future>
#include <mutex>

#include "apiserver/encryption/kms_messages.h"
#include "base/lru_map.h"
#include "net/grpc/grpc.h"
#include "net/tls/crypto.h"
#include "runtime/component_thread.h"
#include "runtime/random.h"
#include "runtime/scope.h"

namespace porthole::apiserver {
namespace {

using namespace std::chrono_literals;
using kms::Encrypted;
using kms::EncryptedObject;

constexpr std::size_t SeedSize = 32, InfoSize = 32, DerivedKeySize = 32;
constexpr Duration AskEvery = 1min, AskAgainAfter = 3s;
constexpr Duration SeedHolds = 3min;  ///< after the last good status
constexpr std::size_t MostSeeds = 4096;
constexpr std::chrono::seconds FailureHolds = 10s;  ///< of a seed, or of the plug-in: a load of many values must not wait for each

/// Runs a task on another thread's loop while this thread waits.
template <class T>
Result<T> wait_for(EventLoop& loop, std::function<Task<T>()> make) {
    const auto ended = std::make_shared<std::promise<void>>();  // both threads hold it
    std::optional<Result<T>> result;
    std::unique_ptr<TaskContext> context;
    loop.post([&] {
        context = std::make_unique<TaskContext>(loop);
        start_task(make(), *context, [&](Result<T> value) {
            result.emplace(std::move(value));
            // At a later turn: what is torn down here must not be in use any more.
            loop.post([ended] { ended->set_value(); });
        });
    });
    ended->get_future().wait();
    return std::move(*result);
}

EncryptionKeyId id_of(const std::string& key_id, EncryptedObject::Source type) {
    const std::string digest = net::hmac_sha256("kms", std::to_string(static_cast<int>(type)) + key_id);
    EncryptionKeyId id;
    for (std::size_t i = 0; i < 8; ++i) id.value = id.value << 8 | static_cast<unsigned char>(digest[i]);
    id.value |= 1;  // 0 is no key
    return id;
}

/// Names an encrypted seed among those that have been decrypted.
std::string seed_name(const Encrypted& source) {
    std::string name = std::to_string(source.ciphertext.size()) + ":" + source.ciphertext + source.key_id;
    for (const auto& [key, value] : source.annotations) name += '\0' + key + '\0' + value;
    return net::sha256_hex(name);
}

class KmsCipher final : public StorageCipher {
public:
    KmsCipher(const EncryptionProvider& provider, Logger log)
        : name_(provider.name),
          timeout_(provider.timeout),
          log_(std::move(log)),
          channel_(thread_.loop(), {.unix_path = provider.socket}),
          scope_(thread_.loop()) {
        (void)wait_for<void>(thread_.loop(), [this] { return with_timeout(ask(), timeout_, "asking the KMS plug-in"); }).has_value();
        thread_.loop().post([this] { scope_.spawn(keep_asking()); });
    }
    ~KmsCipher() override {
        (void)wait_for<void>(thread_.loop(), [this] { return close(); }).has_value();
    }

    Result<Transformed> seal(std::string_view value, std::string_view context) override;
    Result<Transformed> open(std::string_view sealed, std::string_view context) override;
    EncryptionKeyId write_key() const override {
        const std::lock_guard lock(mutex_);
        return id_of(write_.source.key_id, EncryptedObject::Source::HkdfSeed);
    }
    Result<void> ready() const override {
        const std::lock_guard lock(mutex_);
        return ready_locked();
    }

private:
    struct Write {
        std::string seed;  ///< "": none yet
        Encrypted source;
        std::chrono::steady_clock::time_point expires;
    };
    struct Failure {
        std::chrono::steady_clock::time_point until;
        std::string why;
    };
    Result<void> ready_locked() const;
    Result<std::string> seed_of(const Encrypted& source);
    /// Why a seed could not be had a moment ago; null: ask.
    const Failure* recent_failure_locked(const std::string& name) const;
    void note_failure_locked(const std::string& name, const Error& error);

    // On the thread's loop:
    Task<std::string> call(const char* method, std::string request);
    Task<> ask();
    Task<> new_seed(std::string key_id);
    Task<> keep_asking();
    Task<std::string> decrypt(Encrypted source);
    Task<> close();

    const std::string name_;
    const Duration timeout_;
    Logger log_;
    ComponentThread thread_;
    SystemRandom random_;
    net::GrpcChannel channel_;
    Scope scope_;
    std::string failure_;  ///< of the last question; "" when it was answered well

    mutable std::mutex mutex_;
    Write write_;                              ///< by mutex_
    LruMap<std::string> seeds_{MostSeeds};     ///< by seed_name(); by mutex_
    std::map<std::string, Failure> failures_;  ///< by seed_name(), "" for the plug-in as a whole; by mutex_
};

Result<void> KmsCipher::ready_locked() const {
    if (write_.seed.empty()) return Error(Reason::InternalError, "got unexpected nil transformer");
    if (std::chrono::steady_clock::now() > write_.expires)
        return Error(Reason::InternalError, "encryptedDEKSource with keyID hash \"sha256:" + net::sha256_hex(write_.source.key_id) +
                                                "\" expired: the KMS plug-in " + name_ + " is not healthy");
    return {};
}

Result<StorageCipher::Transformed> KmsCipher::seal(std::string_view value, std::string_view context) {
    Write write;
    {
        const std::lock_guard lock(mutex_);
        TRY_VOID(ready_locked());
        write = write_;
    }
    const std::string info = net::random_bytes(InfoSize);
    EncryptedObject object{.data = info + net::seal_aes_gcm(net::hkdf_sha256_expand(write.seed, info, DerivedKeySize), value, context),
                           .source = std::move(write.source),
                           .source_type = EncryptedObject::Source::HkdfSeed};
    const EncryptionKeyId id = id_of(object.source.key_id, object.source_type);
    return Transformed{kms::encode_object(object), id};
}

Result<StorageCipher::Transformed> KmsCipher::open(std::string_view sealed, std::string_view context) {
    TRY(const EncryptedObject object, kms::decode_object(sealed));
    TRY(std::string key, seed_of(object.source));
    std::string_view data = object.data;
    if (object.source_type == EncryptedObject::Source::HkdfSeed) {
        if (key.size() < SeedSize)
            return Error(Reason::InternalError, "invalid seed length " + std::to_string(key.size()) + " used for key generation");
        if (data.size() < InfoSize) return Error(Reason::InternalError, "the stored data was shorter than the required size");
        key = net::hkdf_sha256_expand(key, data.substr(0, InfoSize), DerivedKeySize);
        data.remove_prefix(InfoSize);
    } else if (key.size() != 16 && key.size() != 24 && key.size() != 32) {
        return Error(Reason::InternalError, "crypto/aes: invalid key size " + std::to_string(key.size()));
    }
    auto opened = net::open_aes_gcm(key, data, context);
    if (!opened) return Error(Reason::InternalError, "cipher: message authentication failed");
    return Transformed{*std::move(opened), id_of(object.source.key_id, object.source_type)};
}

Result<std::string> KmsCipher::seed_of(const Encrypted& source) {
    const std::string name = seed_name(source);
    {
        const std::lock_guard lock(mutex_);
        if (const std::string* known = seeds_.find(name)) return *known;
        if (const Failure* failed = recent_failure_locked(name)) return Error(Reason::InternalError, failed->why);
    }
    auto seed = wait_for<std::string>(thread_.loop(), [&] { return decrypt(source); });
    const std::lock_guard lock(mutex_);
    if (!seed) {
        note_failure_locked(name, seed.error());
        return Error(Reason::InternalError, "failed to decrypt DEK, error: " + seed.error().message);
    }
    failures_.erase("");
    failures_.erase(name);
    return seeds_.put(name, *std::move(seed));
}

const KmsCipher::Failure* KmsCipher::recent_failure_locked(const std::string& name) const {
    for (const std::string& one : {std::string(), name}) {
        const auto found = failures_.find(one);
        if (found != failures_.end() && std::chrono::steady_clock::now() < found->second.until) return &found->second;
    }
    return nullptr;
}

void KmsCipher::note_failure_locked(const std::string& name, const Error& error) {
    const bool of_all = error.reason == Reason::Timeout || error.reason == Reason::Unavailable;
    if (failures_.size() >= MostSeeds) failures_.clear();
    failures_[of_all ? "" : name] = {std::chrono::steady_clock::now() + FailureHolds, "failed to decrypt DEK, error: " + error.message};
}

Task<std::string> KmsCipher::call(const char* method, std::string request) {
    return channel_.call(std::string("/v2.KeyManagementService/") + method, std::move(request), timeout_);
}

Task<std::string> KmsCipher::decrypt(Encrypted source) {
    CO_TRY(const std::string answer, co_await call("Decrypt", kms::encode_decrypt_request(source, random_.uuid())));
    co_return kms::decode_decrypt_response(answer);
}

Task<> KmsCipher::ask() {
    CO_TRY(const std::string answer, co_await call("Status", ""));
    CO_TRY(const kms::Status status, kms::decode_status(answer));
    if (status.healthz != "ok") co_return Error(Reason::InternalError, "got unexpected healthz status: " + status.healthz);
    if (status.version != "v2" && status.version != "v2beta1")
        co_return Error(Reason::InternalError, "expected KMSv2 API version v2, got " + status.version);
    if (status.key_id.empty()) co_return Error(Reason::InternalError, "expected KMSv2 KeyID to be set, got ");
    {
        const std::lock_guard lock(mutex_);
        failures_.erase("");
        if (!write_.seed.empty() && write_.source.key_id == status.key_id) {
            write_.expires = std::chrono::steady_clock::now() + SeedHolds;
            co_return {};
        }
    }
    co_return co_await new_seed(status.key_id);
}

Task<> KmsCipher::new_seed(std::string key_id) {
    Write write{.seed = net::random_bytes(SeedSize), .expires = std::chrono::steady_clock::now() + SeedHolds};
    CO_TRY(const std::string answer, co_await call("Encrypt", kms::encode_encrypt_request(write.seed, random_.uuid())));
    CO_TRY(write.source, kms::decode_encrypt_response(answer));
    CO_TRY_VOID(kms::check_limits(write.source));
    // The plug-in is between two keys: the next question will find one.
    if (write.source.key_id != key_id) log_.warn("the KMS plug-in encrypts with another key than its status says", {{"provider", name_}});
    const std::lock_guard lock(mutex_);
    seeds_.put(seed_name(write.source), write.seed);
    write_ = std::move(write);
    co_return {};
}

Task<> KmsCipher::keep_asking() {
    for (;;) {
        CO_TRY_VOID(co_await thread_.loop().sleep(ready() && failure_.empty() ? AskEvery : AskAgainAfter));
        const auto asked = co_await ask();
        if (asked) {
            failure_.clear();
            continue;
        }
        if (is_cancelled(asked)) co_return asked.error();
        if (failure_ == asked.error().message) continue;
        failure_ = asked.error().message;
        log_.error("the KMS plug-in is not healthy", {{"provider", name_}, {"error", failure_}});
    }
}

Task<> KmsCipher::close() {
    CO_TRY_VOID(co_await scope_.close());
    co_return co_await channel_.close();
}

}  // namespace

std::shared_ptr<StorageCipher> make_kms_cipher(const EncryptionProvider& provider, Logger log) {
    return std::make_shared<KmsCipher>(provider, std::move(log));
}

}  // namespace porthole::apiserver
