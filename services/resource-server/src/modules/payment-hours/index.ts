/** What happened to outgoing payments in each hour. The table `payment_hour`. */
export { countPaymentHours, listPaymentHours, type PaymentHour } from './payment-hours.js'
