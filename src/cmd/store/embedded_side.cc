#include "cmd/store/embedded_side.h"

#include "store/embedded/appender.h"
#include "store/embedded/embedded_engine.h"

namespace porthole::cmd {

using apiserver::StoreState;

Result<StoreState> read_embedded_state(const std::filesystem::path& store, const apiserver::TransferForm& form) {
    StoreState state;
    const auto add = [&](store::Row row) { return add_row(state, form, std::move(row)); };
    TRY(state.revision, store::read_embedded_store(store.string(), add));
    return state;
}

Result<void> make_embedded_store(const std::filesystem::path& store, const StoreState& state, const apiserver::TransferForm& form) {
    std::error_code error;
    std::filesystem::remove_all(store, error);
    if (error) return Error(Reason::Io, "removing " + store.string() + ": " + error.message());
    {
        TRY(const auto engine, store::open_embedded_engine(store.string()));
        TRY_VOID(engine->load([](const store::Row&) {}));
        store::Appender appender(*engine);
        for (const store::Row& row : state.rows) TRY_VOID(appender.add(row));
        TRY_VOID(appender.flush());
        TRY_VOID(engine->compact(state.revision, {}));
        engine->close();
    }
    TRY(const StoreState made, read_embedded_state(store, form));
    const std::string difference = state.manifest.difference(made.manifest);
    if (!difference.empty()) return Error(Reason::Io, "the copy in " + store.string() + " is not the same: " + difference);
    if (made.revision != state.revision) return Error(Reason::Io, "the copy in " + store.string() + " is at another revision");
    return {};
}

}  // namespace porthole::cmd
