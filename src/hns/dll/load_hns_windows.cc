#include "hns/dll/load_hns.h"

// Windows' headers come first.
#include "hns/dll/exports_windows.h"

#include <cstdlib>
#include <optional>

#include "base/wide_windows.h"
#include "hns/documents.h"
#include "hns/guid.h"
#include "hns/hresult.h"
#include "runtime/sync.h"

namespace porthole::hns {
namespace {

/// The API's strings are COM's. The emulated host's DLL does without COM, which takes Wine as long to load as a short program to run: its
/// strings are of the process' heap, to which CoTaskMemFree would give them back, too.
void free_string(PWSTR text) {
    using Free = void WINAPI(void*);
    static Free* const free_of_com = [] {
        const HMODULE com = GetModuleHandleW(L"combase.dll");
        return com ? reinterpret_cast<Free*>(reinterpret_cast<void*>(GetProcAddress(com, "CoTaskMemFree"))) : nullptr;
    }();
    if (free_of_com) {
        free_of_com(text);
    } else {
        HeapFree(GetProcessHeap(), 0, text);
    }
}

/// A string that the API hands over.
class TakenString {
public:
    TakenString() = default;
    TakenString(const TakenString&) = delete;
    ~TakenString() {
        if (text_) free_string(text_);
    }
    PWSTR* out() { return &text_; }
    std::string utf8() const { return text_ ? to_utf8(text_) : ""; }
    bool empty() const { return !text_ || !*text_; }

private:
    PWSTR text_ = nullptr;
};

/// Failed is what has a negative code, or an error record with whatever code.
Result<void> check(HRESULT code, const TakenString& record) {
    if (SUCCEEDED(code) && record.empty()) return {};
    return error_of_record(static_cast<std::uint32_t>(code), record.utf8());
}

Error missing(const std::string& name) {
    return hresult_error(Hresult::NotImplemented, name + " is not in this Windows' computenetwork.dll or vmcompute.dll.");
}

Result<GUID> guid_of(const std::string& text) {
    const std::string canonical = canonical_guid(text);
    if (canonical.empty()) return hresult_error(Hresult::InvalidParameter, "\"" + text + "\" is not a valid GUID.");
    std::string digits = canonical;
    std::erase(digits, '-');
    const auto number = [&](std::size_t from, std::size_t count) { return std::strtoul(digits.substr(from, count).c_str(), nullptr, 16); };
    GUID guid{};
    guid.Data1 = number(0, 8);
    guid.Data2 = static_cast<unsigned short>(number(8, 4));
    guid.Data3 = static_cast<unsigned short>(number(12, 4));
    for (std::size_t i = 0; i < 8; ++i) guid.Data4[i] = static_cast<unsigned char>(number(16 + 2 * i, 2));
    return guid;
}

/// An object that is open.
class Opened {
public:
    static Result<Opened> open(const dll::ObjectFunctions& functions, const std::string& id) {
        if (!functions.open) return missing(std::string("HcnOpen") + functions.word);
        TRY(const GUID guid, guid_of(id));
        Opened opened(functions);
        TakenString record;
        TRY_VOID(check(functions.open(guid, &opened.handle_, record.out()), record));
        return opened;
    }
    explicit Opened(const dll::ObjectFunctions& functions) : functions_(&functions) {}
    Opened(Opened&& other) noexcept : functions_(other.functions_), handle_(std::exchange(other.handle_, nullptr)) {}
    ~Opened() {
        if (handle_ && functions_->close) functions_->close(handle_);
    }
    dll::Handle get() const { return handle_; }
    dll::Handle* out() { return &handle_; }

private:
    const dll::ObjectFunctions* functions_;
    dll::Handle handle_ = nullptr;
};

// The calls, on a worker -----------------------------------------------------------------------------------------------

Result<std::string> enumerate(const dll::ObjectFunctions& functions, const std::string& query) {
    if (!functions.enumerate) return missing(std::string("HcnEnumerate") + functions.word + "s");
    TakenString ids, record;
    TRY_VOID(check(functions.enumerate(to_wide(query).c_str(), ids.out(), record.out()), record));
    return ids.utf8();
}

Result<std::string> properties(const dll::ObjectFunctions& functions, dll::Handle object, const std::string& query) {
    if (!functions.query) return missing(std::string("HcnQuery") + functions.word + "Properties");
    TakenString found, record;
    TRY_VOID(check(functions.query(object, to_wide(query).c_str(), found.out(), record.out()), record));
    return found.utf8();
}

/// The id in a document's text; "" where it has none.
std::string id_in(const std::string& document) {
    const auto parsed = parse_document<hcn::NamespaceResourceData>(document);
    return parsed ? canonical_guid(parsed->id) : "";
}

/// Makes objects of one kind.
class Creator {
public:
    /// `keeps_ids`: whether objects of the kind have been seen to get the id of their document; learned here.
    Creator(const dll::Exports& exports, ObjectKind kind, bool& keeps_ids)
        : networks_(exports.objects[static_cast<std::size_t>(ObjectKind::Network)]),
          functions_(exports.objects[static_cast<std::size_t>(kind)]),
          keeps_ids_(keeps_ids) {}

    /// The new object's id.
    Result<std::string> create(const std::string& parent, const std::string& settings) {
        const GUID none{};
        const std::wstring document = to_wide(settings);
        Opened made(functions_);
        TakenString record;
        if (functions_.create_in) {
            TRY_VOID(open_network(parent));
            TRY_VOID(check(functions_.create_in(network_->get(), none, document.c_str(), made.out(), record.out()), record));
        } else if (functions_.create) {
            TRY_VOID(check(functions_.create(none, document.c_str(), made.out(), record.out()), record));
        } else {
            return missing(std::string("HcnCreate") + functions_.word);
        }
        return id_of(made.get(), id_in(settings));
    }

private:
    /// Once for all objects: each of its calls is one to the service.
    Result<void> open_network(const std::string& id) {
        if (network_) return {};
        TRY(Opened network, Opened::open(networks_, id));
        network_.emplace(std::move(network));
        return {};
    }

    /// Creating answers a handle only; the id stands in the properties. `asked` is the document's: a service that has once given an object
    /// of the kind the id that was asked for is not asked again.
    Result<std::string> id_of(dll::Handle object, const std::string& asked) {
        const bool asks = !asked.empty() && asked != ZeroGuid;
        if (asks && keeps_ids_) return asked;
        TRY(const std::string json, properties(functions_, object, ""));
        TRY(const auto shown, parse_document<hcn::NamespaceResourceData>(json));
        if (asks) keeps_ids_ = same_guid(shown.id, asked);
        return shown.id;
    }

    const dll::ObjectFunctions& networks_;
    const dll::ObjectFunctions& functions_;
    bool& keeps_ids_;
    std::optional<Opened> network_;
};

Result<std::string> query(const dll::ObjectFunctions& functions, const std::string& id, const std::string& query) {
    TRY(const Opened object, Opened::open(functions, id));
    return properties(functions, object.get(), query);
}

Result<void> modify(const dll::ObjectFunctions& functions, const std::string& id, const std::string& settings) {
    if (!functions.modify) return missing(std::string("HcnModify") + functions.word);
    TRY(const Opened object, Opened::open(functions, id));
    TakenString record;
    return check(functions.modify(object.get(), to_wide(settings).c_str(), record.out()), record);
}

Result<void> remove(const dll::ObjectFunctions& functions, const std::string& id) {
    if (!functions.remove) return missing(std::string("HcnDelete") + functions.word);
    TRY(const GUID guid, guid_of(id));
    TakenString record;
    return check(functions.remove(guid, record.out()), record);
}

Result<std::string> call_v1(const dll::Exports& exports, const std::string& method, const std::string& path, const std::string& body) {
    if (!exports.call_v1) return missing("HNSCall");
    TakenString response;
    const HRESULT code = exports.call_v1(to_wide(method).c_str(), to_wide(path).c_str(), to_wide(body).c_str(), response.out());
    if (FAILED(code)) return error_of_record(static_cast<std::uint32_t>(code), response.utf8());
    return response.utf8();
}

// Notifications ------------------------------------------------------------------------------------------------------

/// Takes notifications from the API's thread to the loop. Outlives its registration.
struct Listening {
    explicit Listening(EventLoop& loop) : loop(loop) {}
    EventLoop& loop;
    Channel<Notification> heard;  // touched on the loop only

    static void CALLBACK on_notification(DWORD type, void* context, HRESULT, PCWSTR data) {
        const auto& self = *static_cast<std::shared_ptr<Listening>*>(context);
        Notification notification{type & 0x0fffffffu, data ? to_utf8(data) : ""};
        self->loop.post([self, notification = std::move(notification)]() mutable { self->heard.push(std::move(notification)); });
    }
};

class DllHns final : public Hns {
public:
    DllHns(EventLoop& loop, WorkerPool& pool, dll::Exports exports) : loop_(loop), pool_(pool), exports_(exports) {}

    Task<std::string> enumerate(ObjectKind kind, std::string query) override {
        return blocking<std::string>([this, kind, query] { return hns::enumerate(object(kind), query); });
    }
    Task<std::string> create(ObjectKind kind, std::string parent, std::string settings) override {
        return blocking<std::string>(
            [this, kind, parent, settings] { return Creator(exports_, kind, keeps_ids(kind)).create(parent, settings); });
    }
    /// In one turn of the worker.
    Task<std::vector<Result<std::string>>> create_all(ObjectKind kind, std::string parent, std::vector<std::string> settings) override {
        using Made = std::vector<Result<std::string>>;
        return blocking<Made>([this, kind, parent, settings] -> Result<Made> {
            Creator creator(exports_, kind, keeps_ids(kind));
            Made made;
            for (const std::string& document : settings) {
                const bool over = !made.empty() && !made.back() && is_disconnected(made.back().error());
                made.push_back(over ? made.back() : creator.create(parent, document));
            }
            return made;
        });
    }
    Task<std::string> query(ObjectKind kind, std::string id, std::string query) override {
        return blocking<std::string>([this, kind, id, query] { return hns::query(object(kind), id, query); });
    }
    Task<> modify(ObjectKind kind, std::string id, std::string settings) override {
        return blocking<void>([this, kind, id, settings] { return hns::modify(object(kind), id, settings); });
    }
    Task<> remove(ObjectKind kind, std::string id) override {
        return blocking<void>([this, kind, id] { return hns::remove(object(kind), id); });
    }
    Task<std::string> call_v1(std::string method, std::string path, std::string body) override {
        return blocking<std::string>([this, method, path, body] { return hns::call_v1(exports_, method, path, body); });
    }

    Task<> subscribe(std::function<void(const Notification&)> listener) override {
        if (!exports_.register_callback || !exports_.unregister_callback) co_return missing("HcnRegisterServiceCallback");
        auto listening = std::make_shared<Listening>(loop_);
        auto context = std::make_unique<std::shared_ptr<Listening>>(listening);
        dll::Handle registration = nullptr;
        const HRESULT code = exports_.register_callback(&Listening::on_notification, context.get(), &registration);
        if (FAILED(code)) co_return hresult_error(Hresult{static_cast<std::uint32_t>(code)});
        auto heard = co_await deliver(*listening, std::move(listener));
        // Waits for a callback under way, so never on the loop. Uncancellable: the context must not go before.
        CO_TRY_VOID(co_await run_blocking<void>(pool_, [this, registration]() -> Result<void> {
            exports_.unregister_callback(registration);
            return {};
        }));
        co_return heard;
    }

private:
    static Task<> deliver(Listening& listening, std::function<void(const Notification&)> listener) {
        while (true) {
            CO_TRY(const auto notification, co_await listening.heard.next());
            if (!notification) co_return {};
            listener(*notification);
            if (notification->type == NotificationType::ServiceDisconnect) co_return {};
        }
    }

    template <class T>
    Task<T> blocking(std::move_only_function<Result<T>()> work) {
        CO_TRY(const auto permit, co_await turn_.acquire());
        co_return co_await run_blocking<T>(pool_, std::move(work));
    }
    const dll::ObjectFunctions& object(ObjectKind kind) const { return exports_.objects[static_cast<std::size_t>(kind)]; }
    bool& keeps_ids(ObjectKind kind) { return keeps_ids_[static_cast<std::size_t>(kind)]; }

    EventLoop& loop_;
    WorkerPool& pool_;
    dll::Exports exports_;
    Semaphore turn_{1};
    std::array<bool, 5> keeps_ids_{};  // by ObjectKind; of the call whose turn it is
};

}  // namespace

Result<std::unique_ptr<Hns>> load_hns(EventLoop& loop, WorkerPool& pool) {
    TRY(dll::Exports exports, dll::load_exports());
    return std::make_unique<DllHns>(loop, pool, exports);
}

}  // namespace porthole::hns
