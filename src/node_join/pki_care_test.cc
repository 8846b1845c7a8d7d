#include "node_join/pki_care.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "net/tls/x509.h"
#include "node_join/ca_rotation.h"
#include "node_join/pki.h"
#include "runtime/files/durable_file.h"

namespace porthole::node_join {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

class PkiCare : public testing::Test {
protected:
    ~PkiCare() override { fs::remove_all(folder_); }
    Pki load() { return *Pki::load(folder_); }

    const SystemTime now_ = std::chrono::system_clock::now();
    const fs::path folder_ = fs::temp_directory_path() / ("porthole-pki-care-" + std::to_string(::getpid()));
    const Pki before_ = *Pki::ensure(folder_, {{"kubernetes"}, {"127.0.0.1"}}, now_);
};

TEST_F(PkiCare, ListsAuthoritiesAndWhatTheyIssued) {
    const auto entries = list_certificates(folder_);
    ASSERT_TRUE(entries);
    std::string names;
    for (const PkiEntry& entry : *entries) names += entry.name + "<" + entry.authority + " ";
    EXPECT_EQ(
        names,
        "ca< kubelet-serving-ca< front-proxy-ca< apiserver<ca admin<ca apiserver-kubelet-client<ca front-proxy-client<front-proxy-ca ");
    EXPECT_EQ(list_certificates(folder_ / "none").error().reason, Reason::NotFound);
}

TEST_F(PkiCare, RenewsForTheSameSubjectOfANewKey) {
    ASSERT_TRUE(renew_certificate(folder_, "apiserver", now_ + 1h));
    const Pki after = load();
    const auto old = net::parse_certificate(before_.server.certificate_pem), fresh = net::parse_certificate(after.server.certificate_pem);
    EXPECT_EQ(fresh->subject, old->subject);
    EXPECT_NE(fresh->public_der, old->public_der);
    EXPECT_GT(fresh->not_after, old->not_after);
    EXPECT_TRUE(net::CertificateAuthority::load(after.server.certificate_pem, after.server.key_pem)) << "they belong together";
    EXPECT_EQ(after.admin.certificate_pem, before_.admin.certificate_pem);
    ASSERT_TRUE(renew_certificate(folder_, "front-proxy-client", now_));
    EXPECT_EQ(net::parse_certificate(load().front_proxy_client.certificate_pem)->issuer_common_name, "porthole-front-proxy-ca");
}

TEST_F(PkiCare, RenewsNoAuthorityAndNothingUnknown) {
    for (const char* name : {"ca", "sa", "../ca", ""}) EXPECT_EQ(renew_certificate(folder_, name, now_).error().reason, Reason::BadRequest);
    EXPECT_EQ(load().ca_pem, before_.ca_pem);
}

TEST_F(PkiCare, RotatesTheKeyOfTokensInTwoSteps) {
    EXPECT_EQ(finish_service_account_key_rotation(folder_, now_, true).error().reason, Reason::NotFound);
    ASSERT_TRUE(start_service_account_key_rotation(folder_, now_));
    const Pki both = load();
    EXPECT_NE(both.service_account_key_pem, before_.service_account_key_pem);
    EXPECT_EQ(both.previous_service_account_key_pem, before_.service_account_key_pem);
    EXPECT_EQ(start_service_account_key_rotation(folder_, now_).error().reason, Reason::AlreadyExists) << "the first key is still needed";
    EXPECT_EQ(load().previous_service_account_key_pem, before_.service_account_key_pem);

    EXPECT_EQ(finish_service_account_key_rotation(folder_, now_ + 24h, false).error().reason, Reason::Conflict);
    EXPECT_TRUE(service_account_key_rotation(folder_)->in_progress);
    ASSERT_TRUE(finish_service_account_key_rotation(folder_, now_ + 26h, false));
    EXPECT_EQ(load().service_account_key_pem, both.service_account_key_pem);
    EXPECT_EQ(load().previous_service_account_key_pem, "");
    EXPECT_FALSE(service_account_key_rotation(folder_)->in_progress);
}

TEST_F(PkiCare, AStartThatWasCutShortBeforeTheNewKeyIsNotEndedButStartedAgain) {
    ASSERT_TRUE(start_service_account_key_rotation(folder_, now_));
    fs::copy_file(folder_ / "sa-previous.key", folder_ / "sa.key", fs::copy_options::overwrite_existing);
    for (const bool force : {false, true}) {
        const auto finished = finish_service_account_key_rotation(folder_, now_ + 26h, force);
        ASSERT_FALSE(finished) << "the key that is to go still signs";
        EXPECT_EQ(finished.error().reason, Reason::Conflict);
    }
    ASSERT_TRUE(start_service_account_key_rotation(folder_, now_ + 1h));
    EXPECT_NE(load().service_account_key_pem, before_.service_account_key_pem);
    EXPECT_EQ(load().previous_service_account_key_pem, before_.service_account_key_pem);
    EXPECT_LE(std::chrono::abs(service_account_key_rotation(folder_)->started - (now_ + 1h)), 1s)
        << "tokens of the old key were issued until now";
    ASSERT_TRUE(finish_service_account_key_rotation(folder_, now_ + 27h, false));
}

TEST_F(PkiCare, AStolenKeyCanBeDroppedAtOnce) {
    ASSERT_TRUE(start_service_account_key_rotation(folder_, now_));
    ASSERT_TRUE(finish_service_account_key_rotation(folder_, now_, true));
    EXPECT_EQ(load().previous_service_account_key_pem, "");
}

using Files = std::map<std::string, std::string>;

/// The rotation of the cluster's authority, with what the folder holds at each step of it.
class PkiCareAuthority : public PkiCare {
protected:
    Pki ensure() {
        auto made = Pki::ensure(folder_, {{"kubernetes"}, {"127.0.0.1"}}, now_);
        EXPECT_TRUE(made) << made.error().message;
        return *made;
    }
    Files files() const {
        Files all;
        for (const auto& entry : fs::directory_iterator(folder_)) all[entry.path().filename().string()] = *read_file(entry.path());
        return all;
    }
    void set(const Files& files) {
        for (const auto& entry : fs::directory_iterator(folder_)) fs::remove(entry.path());
        for (const auto& [name, text] : files) ASSERT_TRUE(write_durably(folder_ / name, text));
    }
    static std::string issuer(const std::string& pem) { return net::parse_certificate(pem)->issuer_common_name; }
    static std::string name(const std::string& pem) { return net::parse_certificate(pem)->subject.common_name; }
    const std::string old_ = authority_ids(before_.ca_pem)->front();
};

TEST_F(PkiCareAuthority, TheNewOneSignsAndBothAreTrusted) {
    ASSERT_TRUE(start_ca_rotation(folder_, now_));
    const Pki both = ensure();
    const auto ids = *authority_ids(both.ca_pem);
    ASSERT_EQ(ids.size(), 2u);
    EXPECT_EQ(ids[1], old_);
    const auto rotation = *ca_rotation(folder_);
    ASSERT_TRUE(rotation);
    EXPECT_EQ(rotation->current, ids[0]);
    EXPECT_EQ(rotation->previous, old_);
    EXPECT_NE(name(both.ca_pem), "porthole-ca") << "verifiers tell issuers by name";
    for (const KeyPair* pair : {&both.server, &both.admin, &both.kubelet_client}) {
        EXPECT_EQ(issuer(pair->certificate_pem), name(both.ca_pem));
        const auto chain = split_certificates(pair->certificate_pem);
        ASSERT_EQ(chain.size(), 2u) << "those who know only the old authority verify it by the second";
        const auto cross = *net::parse_certificate(chain[1]), current = *net::parse_certificate(both.ca_pem);
        EXPECT_EQ(cross.issuer_common_name, "porthole-ca");
        EXPECT_EQ(cross.public_der, current.public_der);
        EXPECT_EQ(cross.subject, current.subject);
        EXPECT_TRUE(cross.is_ca);
    }
    EXPECT_EQ(issuer(both.issue_node("n", now_)->certificate_pem), name(both.ca_pem));
    EXPECT_EQ(both.kubelet_serving_ca.certificate_pem, before_.kubelet_serving_ca.certificate_pem) << "it has an authority of its own";
    EXPECT_EQ(ensure().server.certificate_pem, both.server.certificate_pem) << "once is enough";
    EXPECT_EQ(start_ca_rotation(folder_, now_).error().reason, Reason::AlreadyExists);
    ASSERT_TRUE(renew_certificate(folder_, "apiserver", now_));
    EXPECT_EQ(split_certificates(load().server.certificate_pem).size(), 2u);
}

TEST_F(PkiCareAuthority, IsAloneAfterTheEnd) {
    EXPECT_EQ(finish_ca_rotation(folder_).error().reason, Reason::NotFound);
    ASSERT_TRUE(start_ca_rotation(folder_, now_));
    const Pki both = ensure();
    ASSERT_TRUE(write_sightings(folder_, {{"ann", {old_, now_}}}));
    ASSERT_TRUE(finish_ca_rotation(folder_));
    const Pki after = ensure();
    EXPECT_EQ(*authority_ids(after.ca_pem), std::vector{authority_ids(both.ca_pem)->front()});
    EXPECT_EQ(after.server.certificate_pem, split_certificates(both.server.certificate_pem).front()) << "only its chain is shorter";
    EXPECT_FALSE(*ca_rotation(folder_));
    for (const auto& [file, text] : files()) EXPECT_FALSE(file.starts_with("ca-")) << file;
    ASSERT_TRUE(start_ca_rotation(folder_, now_ + 1h)) << "and again";
    EXPECT_TRUE(read_sightings(folder_)->empty()) << "of another rotation";
    EXPECT_NE(name(ensure().ca_pem), name(after.ca_pem));
}

TEST_F(PkiCareAuthority, AStartThatIsCutShortIsCompletedOrHasNotBegun) {
    const Files before = files();
    ASSERT_TRUE(start_ca_rotation(folder_, now_));
    const Files after = files();
    const std::string next = split_certificates(after.at("ca.crt")).front();
    const std::pair<const char*, std::string> writes[] = {
        {"ca-next.key", after.at("ca.key")},
        {"ca-next.crt", next},
        {"ca-cross.crt", after.at("ca-cross.crt")},
        {"ca-previous.crt", after.at("ca-previous.crt")},
        {"ca-rotation-started", after.at("ca-rotation-started")},
        {"ca.key", after.at("ca.key")},
        {"ca.crt", after.at("ca.crt")},
    };
    Files state = before;
    for (std::size_t done = 0; done <= std::size(writes); ++done) {
        SCOPED_TRACE(done);
        if (done > 0) state[writes[done - 1].first] = writes[done - 1].second;
        set(state);
        const bool begun = done >= 5;
        const Pki pki = ensure();
        const auto ids = *authority_ids(pki.ca_pem);
        EXPECT_EQ(ids.back(), old_);
        EXPECT_EQ(ids.size(), begun ? 2u : 1u);
        EXPECT_TRUE(net::CertificateAuthority::load(pki.ca_pem, pki.ca_key_pem())) << "key and certificate belong together";
        EXPECT_EQ(issuer(pki.server.certificate_pem), begun ? name(next) : "porthole-ca");
        EXPECT_EQ(split_certificates(pki.server.certificate_pem).size(), begun ? 2u : 1u);
        if (!begun) EXPECT_TRUE(start_ca_rotation(folder_, now_));
    }
}

TEST_F(PkiCareAuthority, AProgramThatComesLateToAStartDoesNotTakeTheNewAuthorityForTheOldOne) {
    const Files before = files();
    ASSERT_TRUE(start_ca_rotation(folder_, now_));
    // The other program had seen the start, and completes it again after this one.
    Files state = files();
    EXPECT_EQ(state.at("ca-previous.crt"), before.at("ca.crt"));
    state["ca-next.key"] = state.at("ca.key");
    state["ca-next.crt"] = split_certificates(state.at("ca.crt")).front();
    set(state);
    ASSERT_TRUE(resume_ca_rotation(folder_));
    EXPECT_EQ(authority_ids(ensure().ca_pem)->size(), 2u);
    EXPECT_EQ(files().at("ca-previous.crt"), before.at("ca.crt"));
}

TEST_F(PkiCareAuthority, WhatCannotBeLookedAtIsNotTakenForMissing) {
    const fs::path loop = folder_ / "apiserver.crt";
    fs::remove(loop);
    fs::create_symlink("apiserver.crt", loop);
    EXPECT_EQ(Pki::ensure(folder_, {{"kubernetes"}, {"127.0.0.1"}}, now_).error().reason, Reason::Io) << "and no exception";
    const fs::path authority = folder_ / "ca.crt";
    fs::remove(loop);
    fs::remove(authority);
    fs::create_symlink("ca.crt", authority);
    for (const auto& error : {Pki::load(folder_).error(), list_certificates(folder_).error(), start_ca_rotation(folder_, now_).error(),
                              Pki::ensure(folder_, {{"kubernetes"}, {"127.0.0.1"}}, now_).error()})
        EXPECT_EQ(error.reason, Reason::Io) << error.message;
    EXPECT_TRUE(fs::is_symlink(authority)) << "no other authority has been made";
}

TEST_F(PkiCareAuthority, AnEndThatIsCutShortIsCompleted) {
    ASSERT_TRUE(start_ca_rotation(folder_, now_));
    (void)ensure();
    Files state = files();
    const std::string next = split_certificates(state.at("ca.crt")).front();
    state["ca-rotation-finishing"] = "";
    const char* const steps[] = {"", "ca.crt", "ca-previous.crt", "ca-cross.crt", "ca-rotation-started"};
    for (const std::string step : steps) {
        SCOPED_TRACE(step);
        if (step == "ca.crt") {
            state[step] = next;
        } else {
            state.erase(step);
        }
        set(state);
        const Pki pki = ensure();
        EXPECT_EQ(pki.ca_pem, next);
        EXPECT_EQ(split_certificates(pki.server.certificate_pem).size(), 1u);
        EXPECT_FALSE(*ca_rotation(folder_));
    }
}

TEST_F(PkiCareAuthority, IsNotEndedWhileSomethingDependsOnTheOldOne) {
    ASSERT_TRUE(start_ca_rotation(folder_, now_));
    const CaRotation rotation = **ca_rotation(folder_);
    const SystemTime later = now_ + PodsFollow;
    const ClientSighting fresh{rotation.current, later}, old{rotation.previous, later};
    const struct {
        const char* name;
        ClientSightings sightings;
        bool published;
        SystemTime now;
        std::vector<std::string> beginnings;
    } rows[] = {
        {"all have followed", {{"system:node:a", fresh}, {"kubernetes-admin", fresh}}, true, later, {}},
        {"an administrator has not", {{"system:node:a", fresh}, {"kubernetes-admin", old}}, true, later, {"kubernetes-admin last used"}},
        {"a node has not", {{"system:node:a", old}}, true, later, {"system:node:a last used"}},
        {"a node is away", {}, true, later, {"node a has not connected"}},
        {"a namespace has not", {{"system:node:a", fresh}}, false, later, {"not every namespace"}},
        {"pods may have not", {{"system:node:a", fresh}}, true, later - 1s, {"running pods may not"}},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        ASSERT_TRUE(write_sightings(folder_, row.sightings));
        const auto blockers = finish_blockers(rotation, *read_sightings(folder_), {"a"}, row.published, row.now);
        ASSERT_EQ(blockers.size(), row.beginnings.size());
        for (std::size_t i = 0; i < blockers.size(); ++i) EXPECT_TRUE(blockers[i].starts_with(row.beginnings[i])) << blockers[i];
    }
}

}  // namespace
}  // namespace porthole::node_join
