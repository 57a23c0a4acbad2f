create database auth;
create database wallet;
