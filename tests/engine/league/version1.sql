-- A league file of version 1, as Ringside 0.2 wrote it.
BEGIN TRANSACTION;
CREATE TABLE actions (match INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE agents (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, name TEXT NOT NULL, game TEXT NOT NULL,
    payload TEXT NOT NULL REFERENCES payloads, record TEXT NOT NULL, archived REAL, seal BLOB NOT NULL,
    UNIQUE (game, name));
INSERT INTO "agents" VALUES(1,'Champion','Champion','pong','04e7a427a5955888e0c314cf9c2bb8bf','{"archived":null,"colour":"","created":1794959518.8361104,"game":"pong","id":"Champion","kind":"pong-bot","name":"Champion","notes":"validated at 30 %","origin":"trained by neat, step 30 of training session 1 (First)","parents":[],"payload":"04e7a427a5955888e0c314cf9c2bb8bf","tags":[],"version":1}',NULL,X'464EFA163C44A329');
CREATE TABLE checkpoints (
    number INTEGER PRIMARY KEY, session INTEGER NOT NULL REFERENCES sessions, step INTEGER NOT NULL, at REAL NOT NULL,
    payload TEXT NOT NULL REFERENCES payloads, agent INTEGER REFERENCES agents, record TEXT NOT NULL,
    seal BLOB NOT NULL);
INSERT INTO "checkpoints" VALUES(2,1,20,1.794959518832350254e+09,'04e7a427a5955888e0c314cf9c2bb8bf',NULL,'{"about":"validated at 20 %","kind":"pong-bot","size":0,"state":"","version":1}',X'6A83FF5257FC1275');
INSERT INTO "checkpoints" VALUES(3,1,30,1.79495951883394241335e+09,'04e7a427a5955888e0c314cf9c2bb8bf',1,'{"about":"validated at 30 %","kind":"pong-bot","size":8,"state":"ae0b6bdb265fbab432ed7c3bc8a570f9","version":1}',X'98DB62F1F1CE3619');
INSERT INTO "checkpoints" VALUES(4,1,40,1.79495951883791780476e+09,'1d1f96181a90390e76ef3f48bf6c31f0',NULL,'{"about":"validated at 40 %","kind":"pong-bot","size":8,"state":"78f3c19dd15fabf35985b19d118f8374","version":1}',X'A860A8091784284F');
INSERT INTO "checkpoints" VALUES(5,1,50,1.79495951883911633488e+09,'1d1f96181a90390e76ef3f48bf6c31f0',NULL,'{"about":"validated at 50 %","kind":"pong-bot","size":8,"state":"65c7a0d6142a4c375e975aada6f2bc71","version":1}',X'59AA2BF088E7E336');
CREATE TABLE forfeits (
    tournament INTEGER NOT NULL, agent INTEGER NOT NULL, ending TEXT NOT NULL, count INTEGER NOT NULL,
    latest INTEGER NOT NULL, PRIMARY KEY (tournament, agent, ending)) WITHOUT ROWID;
CREATE TABLE matches (
    number INTEGER PRIMARY KEY, id BLOB NOT NULL, at REAL NOT NULL, players BLOB NOT NULL, seed INTEGER NOT NULL,
    start TEXT, ranks BLOB NOT NULL, numbers BLOB NOT NULL, steps INTEGER NOT NULL, ending TEXT NOT NULL,
    blamed INTEGER NOT NULL, reason TEXT NOT NULL, repeatable INTEGER NOT NULL, duration REAL NOT NULL,
    worker INTEGER NOT NULL, game INTEGER NOT NULL, digest BLOB NOT NULL, seal BLOB NOT NULL);
CREATE TABLE metrics (
    session INTEGER NOT NULL REFERENCES sessions, name TEXT NOT NULL, step INTEGER NOT NULL, at REAL NOT NULL,
    value BLOB NOT NULL, PRIMARY KEY (session, name, step)) WITHOUT ROWID;
INSERT INTO "metrics" VALUES(1,'validation/share',10,1000000000.0,X'000000000000D03F');
CREATE TABLE payloads (hash TEXT PRIMARY KEY, data BLOB NOT NULL);
INSERT INTO "payloads" VALUES('04e7a427a5955888e0c314cf9c2bb8bf',X'7B2263656E747265223A2066616C73652C2022646561645F7A6F6E65223A20302E30352C2022686F6C64223A20382C20226E6F697365223A20302E302C20227265616368223A20312E302C20227374796C65223A20227374696C6C227D');
INSERT INTO "payloads" VALUES('ae0b6bdb265fbab432ed7c3bc8a570f9',X'789C2B2E492C4955303600000DE002A5');
INSERT INTO "payloads" VALUES('78f3c19dd15fabf35985b19d118f8374',X'789C2B2E492C4955303100000DE202A6');
INSERT INTO "payloads" VALUES('1d1f96181a90390e76ef3f48bf6c31f0',X'7B2263656E747265223A2066616C73652C2022646561645F7A6F6E65223A20302E30352C2022686F6C64223A20382C20226E6F697365223A20302E302C20227265616368223A20312E302C20227374796C65223A202272616E646F6D227D');
INSERT INTO "payloads" VALUES('65c7a0d6142a4c375e975aada6f2bc71',X'789C2B2E492C4955303500000DE402A7');
CREATE TABLE pools (number INTEGER PRIMARY KEY, game TEXT NOT NULL UNIQUE);
CREATE TABLE ratings (
    pool INTEGER NOT NULL, tournament INTEGER NOT NULL, at REAL NOT NULL, agent INTEGER NOT NULL, rating REAL NOT NULL,
    error REAL NOT NULL, PRIMARY KEY (pool, at, agent)) WITHOUT ROWID;
CREATE TABLE seats (agent INTEGER NOT NULL, match INTEGER NOT NULL, PRIMARY KEY (agent, match)) WITHOUT ROWID;
CREATE TABLE sessions (
    number INTEGER PRIMARY KEY, name TEXT NOT NULL, trainer TEXT NOT NULL, game TEXT NOT NULL, config TEXT NOT NULL,
    state TEXT NOT NULL, created REAL NOT NULL, finished REAL, note TEXT NOT NULL, seal BLOB NOT NULL);
INSERT INTO "sessions" VALUES(1,'First','neat','{"name":"pong","options":[["paddle_height",100.0],["paddle_speed",4.0],["points",5],["serve_speed",7.0],["step_limit",20000],["top_speed",15.0]],"version":1}','{"config":[["generations",30],["seed",1]]}','finished',1.79495951881791830067e+09,1.79495951884183406834e+09,'30 generations',X'430EF0810F3908EE');
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE skills (
    pool INTEGER NOT NULL, tournament INTEGER NOT NULL, agent INTEGER NOT NULL, mean REAL NOT NULL,
    deviation REAL NOT NULL, PRIMARY KEY (pool, tournament, agent)) WITHOUT ROWID;
CREATE TABLE tallies (
    pool INTEGER NOT NULL, tournament INTEGER NOT NULL, first INTEGER NOT NULL, second INTEGER NOT NULL,
    wins INTEGER NOT NULL, draws INTEGER NOT NULL, losses INTEGER NOT NULL,
    scored REAL NOT NULL, conceded REAL NOT NULL,
    ll INTEGER NOT NULL, ld INTEGER NOT NULL, even INTEGER NOT NULL, wd INTEGER NOT NULL, ww INTEGER NOT NULL,
    PRIMARY KEY (pool, tournament, first, second)) WITHOUT ROWID;
CREATE TABLE tournaments (
    number INTEGER PRIMARY KEY, pool INTEGER NOT NULL REFERENCES pools, name TEXT NOT NULL, settings TEXT NOT NULL,
    lineups TEXT NOT NULL, state TEXT NOT NULL, created REAL NOT NULL, finished REAL, played INTEGER NOT NULL,
    total INTEGER, note TEXT NOT NULL, seal BLOB NOT NULL);
CREATE INDEX failed ON matches (number) WHERE blamed != 0;
CREATE INDEX void ON matches (number) WHERE ending = 'void';
CREATE INDEX checkpoints_by_session ON checkpoints (session, step);
COMMIT;
