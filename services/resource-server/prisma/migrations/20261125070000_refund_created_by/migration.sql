-- Names in the certificate of the operator who made the refund. Null without mutual TLS, and for a client's payment.
alter table refund add column created_by text;
