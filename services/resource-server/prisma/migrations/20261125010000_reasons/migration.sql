-- Why payments can fail from now on, besides what they failed for until now.
alter type outgoing_payment_failure_reason add value if not exists 'receiver_unreachable' after 'partially_delivered';
alter type outgoing_payment_failure_reason add value if not exists 'rate_changed' after 'receiver_unreachable';
alter type outgoing_payment_failure_reason add value if not exists 'declined_by_provider' after 'rate_changed';
alter type outgoing_payment_failure_reason add value if not exists 'account_frozen' after 'declined_by_provider';
